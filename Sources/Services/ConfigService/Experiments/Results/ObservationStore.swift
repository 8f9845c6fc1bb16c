import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Observations of metrics, one row per metric and day.
struct ObservationStore: Sendable {
    /// The maximum number of days per metric in results.
    static let maximumDays = 100

    let postgres: PostgresClient

    struct Row: Sendable {
        let metric: String
        /// For example `2026-11-22`.
        let day: String
        let asOf: Date
        /// The JSON as received.
        let content: String
        let source: Source
    }

    /// The origin of the sums.
    enum Source: Sendable, Equatable {
        /// Sent to the API.
        case author(Author)
        /// Answered by analytics.
        ///
        /// - Parameters:
        ///   - question: See `ExperimentQuestion.Metric.text`; nil if it is no longer known.
        ///   - seen: The units that analytics saw, as JSON.
        case analytics(question: String?, seen: String?)

        fileprivate static let analyticsAuthor = Author(text: "analytics")

        fileprivate var columns: (author: String, question: String?, seen: String?) {
            switch self {
            case .author(let author): (author.text, nil, nil)
            case .analytics(let question, let seen): (Self.analyticsAuthor.text, question, seen)
            }
        }

        fileprivate init(author: String, question: String?, seen: String?) {
            self =
                author == Self.analyticsAuthor.text
                ? .analytics(question: question, seen: seen) : .author(Author(text: author))
        }
    }

    /// Stores a day's observation of a metric, replacing an earlier one of the same day. Ignored if the experiment was
    /// deleted.
    func set(
        _ content: String, of metric: String, experiment: String, bucketVersion: Int, in space: AppSpace,
        asOf date: Date, from source: Source
    ) async throws {
        let columns = source.columns
        try await postgres.execute(
            """
            INSERT INTO config.observations (app_id, environment, experiment, bucket_version, metric, day, as_of, content, author, question, seen)
            SELECT \(space.appID), \(space.environment.rawValue), \(experiment), \(bucketVersion), \(metric),
                (\(date)::timestamptz AT TIME ZONE 'UTC')::date, \(date), \(content), \(columns.author), \(columns.question), \(columns.seen)
            WHERE NOT EXISTS (
                SELECT FROM config.ended_experiments
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment))
            ON CONFLICT (app_id, environment, experiment, bucket_version, metric, day)
            DO UPDATE SET as_of = excluded.as_of, content = excluded.content, author = excluded.author, question = excluded.question, seen = excluded.seen
            """)
    }

    /// Deletes all observations of an experiment.
    ///
    /// - Parameter experiment: The experiment's id.
    static func delete(of experiment: String, in space: AppSpace, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            DELETE FROM config.observations
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment)
            """)
    }

    /// The most recent days of every metric, in order.
    func list(_ experiment: String, bucketVersion: Int, in space: AppSpace) async throws -> [Row] {
        try await list(experiment, bucketVersion, in: space, days: Self.maximumDays)
    }

    /// The most recent day of every metric.
    func latest(_ experiment: String, bucketVersion: Int, in space: AppSpace) async throws -> [Row] {
        try await list(experiment, bucketVersion, in: space, days: 1)
    }

    private func list(_ experiment: String, _ bucketVersion: Int, in space: AppSpace, days: Int) async throws
        -> [Row]
    {
        let rows = try await postgres.query(
            """
            SELECT metric, day::text, as_of, content, author, question, seen FROM (
                SELECT *, row_number() OVER (PARTITION BY metric ORDER BY day DESC) AS place FROM config.observations
                WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND experiment = \(experiment)
                    AND bucket_version = \(bucketVersion)) AS observed
            WHERE place <= \(days) ORDER BY metric, day
            """)
        return try rows.map { row in
            Row(
                metric: try row.decode(0), day: try row.decode(1), asOf: try row.decode(2), content: try row.decode(3),
                source: Source(author: try row.decode(4), question: try row.decode(5), seen: try row.decode(6)))
        }
    }
}
