import Foundation
import HTTPTypes
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Answers questions from roll-ups, which is fast; from blocks of events; or from the events themselves. Questions to
/// blocks and events are limited in number and time.
struct QuestionStore: Sendable {
    /// Maximum number of concurrent questions to the events in one process, and maximum number of waiting questions.
    static let maximumRaw = 2
    static let maximumRawWaiting = 16
    /// Time limit of one question to the events.
    static let rawTimeout: Duration = .seconds(20)

    private static let noRow = ServiceError(.internalError, cause: "a query that always returns a row returned none")

    let postgres: PostgresClient
    let logger: Logger
    let semaphore = AsyncSemaphore(
        limit: Self.maximumRaw, maximumWaiting: Self.maximumRawWaiting,
        refusal: ServiceError(
            .tooManyRequests, "Too many questions that read single events are waiting. Try again later.",
            retryAfter: 5))

    init(postgres: PostgresClient, logger: Logger) {
        (self.postgres, self.logger) = (postgres, logger)
    }

    /// Runs a query on the events, as soon as a permit is free.
    ///
    /// - Throws: `question-too-large`, `too-many-requests`.
    func raw(_ query: PostgresQuery, timeout: Duration = Self.rawTimeout) async throws -> PostgresRows {
        try await semaphore.withPermit {
            var query = query
            query.isPrepared = false
            do {
                return try await postgres.query(query, timeout: timeout)
            } catch let error as PostgresError where error.isTimeout {
                throw Self.tooLarge(timeout, cause: "\(error)")
            }
        }
    }

    static func tooLarge(_ timeout: Duration, cause: String? = nil) -> ServiceError {
        ServiceError(
            .questionTooLarge,
            "The question was not answered within \(timeout.components.seconds) seconds. Ask about fewer days.",
            cause: cause)
    }

    /// Divides the requested time into intervals.
    ///
    /// - Throws: `invalid-parameter`, `limit-exceeded`.
    func span(_ request: Span.Request, in space: Space) async throws -> Span {
        let zones = try await self.zones(of: space)
        let zone = request.timeZone ?? zones.current
        let rows: PostgresRows
        do {
            rows = try await postgres.query(Self.spanQuery(request, zone))
        } catch let error as PostgresError where error.sqlState == "22008" {
            throw ServiceError(.invalidParameter, "There is no such day.", field: "from")
        } catch let error as PostgresError where error.sqlState == "22023" {
            throw ServiceError(
                .invalidParameter,
                "There is no such time zone; use a name of the IANA database, such as Europe/Dublin.",
                field: "timeZone")
        }
        guard let row = rows.first else { throw Self.noRow }
        let from: String = try row.decode(0), to: String = try row.decode(1), length: Int = try row.decode(2)
        guard length >= 1 else {
            throw ServiceError(.invalidParameter, "The last day is before the first.", field: "to")
        }
        guard length <= Span.maximumDays else {
            throw ServiceError(.limitExceeded, "A question may cover at most \(Span.maximumDays) days.", field: "from")
        }
        let bounds: [Int] = try row.decode(3)
        guard bounds.count - 1 <= Span.maximumIntervals else {
            throw ServiceError(
                .limitExceeded,
                "A question may have at most \(Span.maximumIntervals) intervals. Ask for longer intervals or fewer days.",
                field: "interval")
        }
        return Span(
            space: space, interval: request.interval, timeZone: zone, from: from, to: to, bounds: bounds,
            days: try row.decode(4),
            labels: try row.decode(5), asOf: zones.asOf, rolledTimeZone: zones.rolled)
    }

    private func zones(of space: Space) async throws -> (current: String, rolled: String?, asOf: Date?) {
        let rows = try await postgres.query(
            """
            SELECT coalesce((SELECT time_zone FROM analytics.settings WHERE space = \(space.id)), 'UTC'),
                CASE WHEN z.again_to IS NULL THEN coalesce(z.time_zone, 'UTC') END, CASE WHEN isfinite(reached) THEN reached END
            FROM analytics.rollups LEFT JOIN analytics.rolled_spaces AS z ON z.space = \(space.id)
            """)
        guard let row = rows.first else { throw Self.noRow }
        return (try row.decode(0), try row.decode(1), try row.decode(2))
    }

    /// The start of each interval. A day begins at local midnight, or right after it if the clock skips midnight. Hours
    /// have equal length across changes of the clock.
    private static func spanQuery(_ request: Span.Request, _ zone: String) -> PostgresQuery {
        let starts: PostgresQuery
        switch request.interval {
        case .none: starts = "SELECT first_at AS at, first_day AS day FROM ends"
        case .hour:
            starts = """
                SELECT at, (at AT TIME ZONE \(zone))::date FROM ends, generate_series(first_at, last_at - interval '1 microsecond', interval '1 hour') AS at
                """
        case .day, .week, .month:
            let step = "1 " + request.interval.rawValue
            starts = """
                SELECT greatest(day::date, first_day)::timestamp AT TIME ZONE \(zone), greatest(day::date, first_day)
                FROM ends, generate_series(date_trunc(\(request.interval.rawValue), first_day::timestamp), last_day::timestamp, \(step)::interval) AS day
                """
        }
        let label: PostgresQuery =
            request.interval == .hour
            ? """
            to_char(at AT TIME ZONE \(zone), 'YYYY-MM-DD"T"HH24:MI') || CASE WHEN at AT TIME ZONE \(zone) < at AT TIME ZONE 'UTC' THEN '-' ELSE '+' END
                || to_char(greatest(at AT TIME ZONE \(zone) - at AT TIME ZONE 'UTC', at AT TIME ZONE 'UTC' - at AT TIME ZONE \(zone)), 'HH24:MI')
            """ : "day::text"
        return """
            WITH named AS (SELECT coalesce(\(request.to)::text::date, (now() AT TIME ZONE \(zone))::date) AS last_day),
            days AS (SELECT coalesce(\(request.from)::text::date, last_day - 29) AS first_day, last_day FROM named),
            ends AS (
                SELECT first_day, last_day, first_day::timestamp AT TIME ZONE \(zone) AS first_at, (last_day + 1)::timestamp AT TIME ZONE \(zone) AS last_at
                FROM days WHERE last_day - first_day BETWEEN 0 AND \(Span.maximumDays)),
            starts (at, day) AS (\(starts))
            SELECT first_day::text, last_day::text, last_day - first_day + 1,
                ARRAY(SELECT extract(epoch FROM at)::bigint FROM (SELECT at FROM starts UNION ALL SELECT last_at FROM ends) AS bounds ORDER BY at),
                ARRAY(SELECT (day - date '1970-01-01')::bigint FROM (SELECT day FROM starts UNION ALL SELECT last_day + 1 FROM ends) AS bounds ORDER BY day),
                ARRAY(SELECT \(label) FROM starts ORDER BY at)
            FROM days
            """
    }
}

extension PostgresError {
    /// Whether the query ran out of time.
    var isTimeout: Bool { code == .timeout || sqlState == "57014" }
}
