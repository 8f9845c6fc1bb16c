import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The number of reports over time, in UTC, including steps without reports.
struct IssueTimeline: Sendable {
    /// The length of a step.
    enum Interval: String, Sendable, CaseIterable {
        case month, day, hour

        /// The maximum number of steps.
        var maximumSteps: Int {
            switch self {
            case .month: 36
            case .day: 366
            case .hour: 168
            }
        }

        /// The default number of steps.
        var defaultSteps: Int {
            switch self {
            case .month: 12
            case .day: 30
            case .hour: 24
            }
        }
    }

    let postgres: PostgresClient

    /// The steps up to the one that contains `last`, oldest first: `{"from":…,"events":n}`.
    ///
    /// Months and days come from `issue_days`, by the time of occurrence, and include reports no longer stored. Hours
    /// come from the stored reports, by the time of receipt.
    ///
    /// - Parameter issue: An issue; nil counts all issues of the space.
    func read(_ interval: Interval, steps: Int, endingAt last: Date, of issue: Int64?, in space: Space) async throws
        -> [String]
    {
        let issues: PostgresQuery =
            if let issue { "= \(issue)" } else {
                "IN (SELECT id FROM analytics.issues WHERE space = \(space.id) AND deleted IS NULL)"
            }
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

extension IssueTimeline.Interval {
    /// Reads the query parameters `interval`, `steps` and `to`.
    ///
    /// - Throws: `invalid-parameter`.
    static func parameters(of request: Request, at now: Date) throws -> (interval: Self, steps: Int, last: Date) {
        let interval = try request.choice("interval") ?? Self.month
        let steps = try request.number("steps", default: interval.defaultSteps, in: 1...interval.maximumSteps)
        let last = try request.time("to") ?? now
        guard (0..<4e9).contains(last.timeIntervalSince1970) else {
            throw ServiceError(.invalidParameter, "Expected a time from 1970 to 2096.", field: "to")
        }
        return (interval, steps, last)
    }
}
