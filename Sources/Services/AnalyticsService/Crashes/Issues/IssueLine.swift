import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// How many reports there were, over time. All in UTC, the steps without any included.
struct IssueLine: Sendable {
    /// What is counted together.
    enum Interval: String, Sendable, CaseIterable {
        case month, day, hour

        /// As many steps a line has at the most.
        var maximumSteps: Int {
            switch self {
            case .month: 36
            case .day: 366
            case .hour: 168
            }
        }

        /// As many as it has when nothing is said.
        var usualSteps: Int {
            switch self {
            case .month: 12
            case .day: 30
            case .hour: 24
            }
        }
    }

    let postgres: PostgresClient

    /// A line that ends with the step that `last` is in, oldest first: `{"from":…,"events":n}`.
    ///
    /// By months and days from `issue_days`, by when it happened, whether the reports are kept or not; by hours from the reports, by when they were received.
    ///
    /// - Parameter issue: nil: all of the space together.
    func read(_ interval: Interval, steps: Int, endingAt last: Date, of issue: Int64?, in space: Space) async throws -> [String] {
        let issues: PostgresQuery =
            if let issue { "= \(issue)" } else { "IN (SELECT id FROM analytics.issues WHERE space = \(space.id) AND deleted IS NULL)" }
        let (step, counted): (PostgresQuery, PostgresQuery) =
            switch interval {
            case .month: ("interval '1 month'", Self.days("month", issues))
            case .day: ("interval '1 day'", Self.days("day", issues))
            case .hour:
                (
                    "interval '1 hour'",
                    """
                    SELECT date_trunc('hour', received AT TIME ZONE 'UTC') AS step, count(*) AS events FROM analytics.crash_events, bounds
                    WHERE issue \(issues) AND received >= first AT TIME ZONE 'UTC' AND received < (last + interval '1 hour') AT TIME ZONE 'UTC' GROUP BY 1
                    """
                )
            }
        return try await postgres.query(
            """
            WITH bounds AS (
                SELECT date_trunc(\(interval.rawValue), \(last) AT TIME ZONE 'UTC') - \(Int32(steps - 1)) * \(step) AS first,
                    date_trunc(\(interval.rawValue), \(last) AT TIME ZONE 'UTC') AS last),
            counted AS (\(counted))
            SELECT jsonb_build_object(
                'from', to_char(s.step, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'events', coalesce(c.events, 0))::text
            FROM bounds, generate_series(first, last, \(step)) AS s (step) LEFT JOIN counted AS c ON c.step = s.step ORDER BY s.step
            """
        ).map { try $0.decode(0) }
    }

    private static func days(_ unit: String, _ issues: PostgresQuery) -> PostgresQuery {
        """
        SELECT date_trunc(\(unit), day::timestamp) AS step, sum(events) AS events FROM analytics.issue_days, bounds
        WHERE issue \(issues) AND day >= first::date AND date_trunc(\(unit), day::timestamp) <= last GROUP BY 1
        """
    }
}

extension IssueLine.Interval {
    /// `interval`, `steps` and `to` of a query.
    ///
    /// - Throws: `invalid-parameter`.
    static func line(of request: Request) throws -> (interval: Self, steps: Int, last: Date) {
        guard let interval = Self(rawValue: String(request.uri.queryParameters["interval"] ?? "month")) else {
            throw HTTPProblem(.invalidParameter, "It is one of \(allCases.map(\.rawValue).joined(separator: ", ")).", field: "interval")
        }
        let steps = try request.number("steps", default: interval.usualSteps, in: 1...interval.maximumSteps)
        let last = try request.time("to") ?? Date()
        guard (0..<4e9).contains(last.timeIntervalSince1970) else { throw HTTPProblem(.invalidParameter, "It is out of range.", field: "to") }
        return (interval, steps, last)
    }
}
