import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Which units were given which variations, and when first.
struct ExposureStore: Sendable {
    let postgres: PostgresClient

    /// How many units an experiment has.
    struct Count: Sendable, Equatable {
        /// By variation, without those below.
        var units: [String: Int] = [:]
        /// That were given more than one variation: they belong to none.
        var multiple = 0
    }

    /// What stands for a unit in the table: the first 128 bits of SHA-256 of `user:<id>` or `device:<id>`, in hexadecimal digits.
    static func unit(_ kind: ExperimentDocument.Unit, _ id: String) -> String {
        Hexadecimal.text(Credential.digest(of: kind.rawValue + ":" + id).prefix(16))
    }

    /// Adds those that are not there.
    func add(_ exposures: [(exposure: Exposure, date: Date)]) async throws {
        let all = exposures.map(\.exposure)
        try await postgres.execute(
            """
            INSERT INTO config.exposures (app_id, environment, experiment, bucket_version, unit, variation, first_seen)
            SELECT app_id, environment, experiment, bucket_version, unit, variation, to_timestamp(seen / 1000.0) FROM unnest(
                \(all.map(\.space.appID)), \(all.map(\.space.environment.rawValue)), \(all.map(\.experiment)), \(all.map(\.bucketVersion)),
                \(all.map(\.unit)), \(all.map(\.variation)), \(exposures.map { Int($0.date.timeIntervalSince1970 * 1_000) })
            ) AS exposed (app_id, environment, experiment, bucket_version, unit, variation, seen)
            ON CONFLICT DO NOTHING
            """)
    }

    /// Experiment → bucket version → the variation that the unit was given first.
    func history(of unit: ExperimentUnit, experiments: [String], in space: ConfigSpace) async throws -> [String: [Int: String]] {
        let units = ExperimentDocument.Unit.allCases.compactMap { kind in unit[kind].map { Self.unit(kind, $0) } }
        let rows = try await postgres.query(
            """
            SELECT experiment, bucket_version, variation FROM config.exposures
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND unit = ANY (\(units))
                AND experiment = ANY (\(experiments))
            ORDER BY first_seen DESC, variation DESC
            """)
        var history: [String: [Int: String]] = [:]
        for row in rows { history[try row.decode(0), default: [:]][try row.decode(1)] = try row.decode(2, as: String.self) }
        return history
    }

    func count(_ experiment: String, bucketVersion: Int, in space: ConfigSpace) async throws -> Count {
        let rows = try await postgres.query(
            """
            SELECT CASE WHEN variations = 1 THEN variation END, count(*) FROM (
                SELECT min(variation) AS variation, count(*) AS variations FROM config.exposures
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment)
                    AND bucket_version = \(bucketVersion)
                GROUP BY unit) AS units
            GROUP BY 1
            """)
        var count = Count()
        for row in rows {
            let units: Int = try row.decode(1)
            if let variation: String = try row.decode(0) { count.units[variation] = units } else { count.multiple = units }
        }
        return count
    }

    // MARK: Of one user

    /// As the user, and as the device that OpenFeature's targeting key with the user's id is taken for.
    private static func units(of user: String) -> [String] { [unit(.user, user), unit(.device, user)] }

    /// Deletes at most `limit` exposures of a user; returns how many.
    func erase(user id: String, in space: ConfigSpace, limit: Int) async throws -> Int {
        try await postgres.query(
            """
            DELETE FROM config.exposures WHERE ctid IN (
                SELECT ctid FROM config.exposures
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND unit = ANY (\(Self.units(of: id))) LIMIT \(limit))
            RETURNING 1
            """
        ).count
    }

    /// JSON objects of a user's exposures, from behind `after`, a number of rows.
    func export(user id: String, in space: ConfigSpace, after: Int, limit: Int) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'experiment', experiment, 'bucketVersion', bucket_version, 'variation', variation, 'firstSeen', \(PostgresQuery.rfc3339("first_seen")))::text
            FROM config.exposures WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND unit = ANY (\(Self.units(of: id)))
            ORDER BY experiment, bucket_version, variation OFFSET \(after) LIMIT \(limit)
            """
        ).map { try $0.decode(0) }
    }
}
