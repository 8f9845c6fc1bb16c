import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The variations that each unit was given, with the time of the first exposure.
struct ExposureStore: Sendable {
    let postgres: PostgresClient

    /// The number of exposed units of an experiment.
    struct Count: Sendable, Equatable {
        /// Units by variation, without those counted in `multiple`.
        var units: [String: Int] = [:]
        /// Units that were given more than one variation and count for none.
        var multiple = 0
        /// The time of the first exposure; nil if there is none.
        var since: Date?
    }

    /// The unit's key in the table: the first 128 bits of the SHA-256 of `user:<id>` or `device:<id>`, in hexadecimal.
    static func unit(_ kind: ExperimentDocument.Unit, _ id: String) -> String {
        Hexadecimal.text(Credential.digest(of: kind.rawValue + ":" + id).prefix(16))
    }

    /// Adds new exposures, except for experiments that have ended and users who were erased. Idempotent.
    func add(_ exposures: [(exposure: Exposure, date: Date)]) async throws {
        let all = exposures.map(\.exposure)
        try await postgres.execute(
            """
            INSERT INTO config.exposures (app_id, environment, experiment, bucket_version, unit, variation, first_seen)
            SELECT app_id, environment, experiment, bucket_version, unit, variation, to_timestamp(seen / 1000.0) FROM unnest(
                \(all.map(\.space.appID)), \(all.map(\.space.environment.rawValue)), \(all.map(\.experiment)), \(all.map(\.bucketVersion)),
                \(all.map(\.unit)), \(all.map(\.variation)), \(exposures.map { Int($0.date.timeIntervalSince1970 * 1_000) })
            ) AS exposed (app_id, environment, experiment, bucket_version, unit, variation, seen)
            WHERE NOT EXISTS (SELECT FROM config.ended_experiments AS x
                    WHERE x.app_id = exposed.app_id AND x.environment = exposed.environment AND x.experiment = exposed.experiment)
                AND NOT EXISTS (SELECT FROM config.erased_units AS x
                    WHERE x.app_id = exposed.app_id AND x.environment = exposed.environment AND x.unit = exposed.unit)
            ON CONFLICT DO NOTHING
            """)
    }

    /// The unit's first variation by experiment and bucket version.
    func history(of unit: ExperimentUnit, experiments: [String], in space: AppSpace) async throws -> [String: [Int:
        String]]
    {
        let units = ExperimentDocument.Unit.allCases.compactMap { kind in unit[kind].map { Self.unit(kind, $0) } }
        let rows = try await postgres.query(
            """
            SELECT experiment, bucket_version, variation FROM config.exposures
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND unit = ANY (\(units))
                AND experiment = ANY (\(experiments))
            ORDER BY first_seen DESC, variation DESC
            """)
        var history: [String: [Int: String]] = [:]
        for row in rows {
            history[try row.decode(0), default: [:]][try row.decode(1)] = try row.decode(2, as: String.self)
        }
        return history
    }

    func count(_ experiment: String, bucketVersion: Int, in space: AppSpace) async throws -> Count {
        let rows = try await postgres.query(
            """
            SELECT CASE WHEN variations = 1 THEN variation END, count(*), min(first_seen) FROM (
                SELECT min(variation) AS variation, count(*) AS variations, min(first_seen) AS first_seen FROM config.exposures
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment)
                    AND bucket_version = \(bucketVersion)
                GROUP BY unit) AS units
            GROUP BY 1
            """)
        var count = Count()
        for row in rows {
            let units: Int = try row.decode(1)
            if let variation: String = try row.decode(0) {
                count.units[variation] = units
            } else {
                count.multiple = units
            }
            let first: Date = try row.decode(2)
            count.since = min(count.since ?? first, first)
        }
        return count
    }

    // MARK: Of one user

    /// The user's keys: as a user, and as a device, because OpenFeature's targeting key may hold a user's id.
    private static func units(of user: String) -> [String] { [unit(.user, user), unit(.device, user)] }

    /// Deletes at most `limit` exposures of a user and returns their number. Marks the user as erased, so that
    /// exposures not yet written are dropped.
    func erase(user id: String, in space: AppSpace, limit: Int) async throws -> Int {
        try await postgres.execute(
            """
            INSERT INTO config.erased_units (app_id, environment, unit)
            SELECT \(space.appID), \(space.environment.rawValue), unnest(\(Self.units(of: id)))
            ON CONFLICT (app_id, environment, unit) DO UPDATE SET erased = now()
            """)
        return try await postgres.query(
            """
            DELETE FROM config.exposures WHERE ctid IN (
                SELECT ctid FROM config.exposures
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND unit = ANY (\(Self.units(of: id))) LIMIT \(limit))
            RETURNING 1
            """
        ).count
    }

    /// A user's exposures as JSON objects, skipping the first `after` rows.
    func export(user id: String, in space: AppSpace, after: Int, limit: Int) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'experiment', split_part(experiment, '~', 1), 'bucketVersion', bucket_version, 'variation', variation, 'firstSeen', \(PostgresQuery.rfc3339("first_seen")))::text
            FROM config.exposures WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND unit = ANY (\(Self.units(of: id)))
            ORDER BY experiment, bucket_version, variation OFFSET \(after) LIMIT \(limit)
            """
        ).map { try $0.decode(0) }
    }

    // MARK: Deleted experiments and erased users

    /// Marks an experiment as ended: `clean` deletes its exposures, and no new ones are added. Runs in the caller's
    /// transaction.
    ///
    /// - Parameter experiment: The experiment's id.
    static func end(_ experiment: String, in space: AppSpace, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            INSERT INTO config.ended_experiments (app_id, environment, experiment) VALUES (\(space.appID), \(space.environment.rawValue), \(experiment))
            ON CONFLICT (app_id, environment, experiment) DO UPDATE SET ended = now()
            """)
    }

    /// Deletes exposures of ended experiments, and exposures that were written while their user was being erased; at
    /// most `limit` of each.
    ///
    /// - Returns: The larger of the two numbers.
    func clean(limit: Int) async throws -> Int {
        let exposures = try await postgres.query(
            """
            DELETE FROM config.exposures WHERE ctid IN (
                SELECT e.ctid FROM config.ended_experiments AS x JOIN config.exposures AS e USING (app_id, environment, experiment) LIMIT \(limit))
            RETURNING 1
            """
        ).count
        let late = try await postgres.query(
            """
            DELETE FROM config.exposures WHERE ctid IN (
                SELECT e.ctid FROM config.erased_units AS x JOIN config.exposures AS e USING (app_id, environment, unit)
                WHERE x.erased > now() - interval '2 minutes' LIMIT \(limit))
            RETURNING 1
            """
        ).count
        let most = max(exposures, late)
        guard most < limit else { return most }
        try await postgres.execute("DELETE FROM config.ended_experiments WHERE ended < now() - interval '7 days'")
        try await postgres.execute("DELETE FROM config.erased_units WHERE erased < now() - interval '7 days'")
        return most
    }
}
