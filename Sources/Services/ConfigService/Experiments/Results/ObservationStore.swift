import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// What was observed of metrics, a row a day.
struct ObservationStore: Sendable {
    /// Of a metric, in results.
    static let maximumDays = 100

    let postgres: PostgresClient

    struct Row: Sendable {
        let metric: String
        /// `2026-11-22`
        let day: String
        let asOf: Date
        /// JSON, as it came.
        let content: String
    }

    /// Sets a day's observation of a metric; an older one of the same day goes. Of an experiment that was deleted nothing is kept.
    func set(
        _ content: String, of metric: String, experiment: String, bucketVersion: Int, in space: ConfigSpace, asOf date: Date, by author: Author
    ) async throws {
        try await postgres.execute(
            """
            INSERT INTO config.observations (app_id, environment, experiment, bucket_version, metric, day, as_of, content, author)
            SELECT \(space.appID), \(space.environment.rawValue), \(experiment), \(bucketVersion), \(metric),
                (\(date)::timestamptz AT TIME ZONE 'UTC')::date, \(date), \(content), \(author.text)
            WHERE NOT EXISTS (
                SELECT FROM config.ended_experiments
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment))
            ON CONFLICT (app_id, environment, experiment, bucket_version, metric, day)
            DO UPDATE SET as_of = excluded.as_of, content = excluded.content, author = excluded.author
            """)
    }

    /// Deletes all of an experiment.
    ///
    /// - Parameter experiment: its id.
    static func delete(of experiment: String, in space: ConfigSpace, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            DELETE FROM config.observations
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment)
            """)
    }

    /// The last days of every metric, in order.
    func list(_ experiment: String, bucketVersion: Int, in space: ConfigSpace) async throws -> [Row] {
        let rows = try await postgres.query(
            """
            SELECT metric, day::text, as_of, content FROM (
                SELECT *, row_number() OVER (PARTITION BY metric ORDER BY day DESC) AS place FROM config.observations
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment)
                    AND bucket_version = \(bucketVersion)) AS observed
            WHERE place <= \(Self.maximumDays) ORDER BY metric, day
            """)
        return try rows.map { Row(metric: try $0.decode(0), day: try $0.decode(1), asOf: try $0.decode(2), content: try $0.decode(3)) }
    }
}
