import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// An alert under evaluation: whether it fires, and with what message.
struct FiringAlert: Sendable {
    static let columns: PostgresQuery = """
        a.id, a.space, s.app_id, s.environment, a.name, a.kind, a.levels, a.releases, a.scope, a.measure, a.threshold, a.window_seconds, a.minimum,
        \(PostgresQuery.rfc3339("now()"))
        """

    let id: UUID
    let space: Int32
    private let appID: String
    private let environment: String
    private let name: String
    private let kind: Alert.Kind
    private let levels: [Int]
    private let releases: [String]
    private let scope: Alert.Scope
    private let measure: Alert.Measure?
    private let threshold: Double
    private let windowInSeconds: Int
    private let minimum: Int
    private let now: String

    /// - Parameter row: A row with `columns`.
    init(_ row: PostgresRow) throws {
        guard let kind = Alert.Kind(rawValue: try row.decode(5)), let scope = Alert.Scope(rawValue: try row.decode(8))
        else {
            throw ServiceError(.internalError, cause: "unknown kind or scope of alert")
        }
        (self.kind, self.scope) = (kind, scope)
        (id, space, appID, environment, name) = (
            try row.decode(0), try row.decode(1), try row.decode(2), try row.decode(3), try row.decode(4)
        )
        (levels, releases, measure) = (try row.decode(6), try row.decode(7), Alert.Measure(rawValue: try row.decode(9)))
        (threshold, windowInSeconds, minimum, now) = (
            try row.decode(10), try row.decode(11), try row.decode(12), try row.decode(13)
        )
    }

    /// Why an alert fires.
    struct Reason: Sendable {
        /// Number of issues; nil if the alert is about the app as a whole.
        var count: Int?
        /// The measured value; nil if each issue has its own.
        var value: Double?
        /// Some of the issues, each with its measured value.
        var issues: [(id: Int64, value: Int?)] = []
    }

    /// The reason to fire, or nil. Consumes the queued changes of issues, so that each change is reported once.
    func reason(_ transaction: PostgresTransaction) async throws -> Reason? {
        switch kind {
        case .newIssue, .regression: try await changedIssues(transaction)
        case .rate: scope == .issue ? try await busyIssues(transaction) : try await busyApp(transaction)
        case .crashFree: try await crashFree(transaction)
        }
    }

    private func changedIssues(_ transaction: PostgresTransaction) async throws -> Reason? {
        let issues = try await transaction.query(
            """
            WITH consumed AS (DELETE FROM analytics.crash_alert_happenings WHERE alert = \(id) RETURNING issue, history)
            SELECT c.issue FROM consumed AS c JOIN analytics.issues AS i ON i.id = c.issue AND i.deleted IS NULL GROUP BY c.issue ORDER BY min(c.history)
            """
        ).map { try $0.decode(0, as: Int64.self) }
        guard !issues.isEmpty else { return nil }
        return Reason(count: issues.count, issues: issues.prefix(AlertFiring.maximumIssues).map { ($0, nil) })
    }

    // MARK: Rates

    private func busyIssues(_ transaction: PostgresTransaction) async throws -> Reason? {
        let rows = try await transaction.query(
            """
            SELECT e.issue, \(counted), count(*) OVER () \(reports) GROUP BY e.issue HAVING \(counted) >= \(threshold)
            ORDER BY 2 DESC, 1 LIMIT \(AlertFiring.maximumIssues)
            """)
        guard let first = rows.first else { return nil }
        return Reason(count: try first.decode(2), issues: try rows.map { (try $0.decode(0), try $0.decode(1)) })
    }

    private func busyApp(_ transaction: PostgresTransaction) async throws -> Reason? {
        let value = try await transaction.query("SELECT \(counted) \(reports)")[0].decode(0, as: Int.self)
        guard Double(value) >= threshold else { return nil }
        let rows = try await transaction.query(
            "SELECT e.issue, \(counted) \(reports) GROUP BY e.issue ORDER BY 2 DESC, 1 LIMIT \(AlertFiring.maximumIssues)"
        )
        return Reason(value: Double(value), issues: try rows.map { (try $0.decode(0), try $0.decode(1)) })
    }

    /// The aggregate over `reports`.
    private var counted: PostgresQuery {
        measure == .users ? "count(DISTINCT e.person) FILTER (WHERE e.person <> 0)" : "count(*)"
    }

    /// Reports within the window, without those of ignored or deleted issues.
    private var reports: PostgresQuery {
        """
        FROM analytics.crash_events AS e JOIN analytics.issues AS i ON i.id = e.issue LEFT JOIN analytics.releases AS r ON r.id = e.release
        WHERE e.space = \(space) AND e.received > now() - make_interval(secs => \(Double(windowInSeconds))) AND i.deleted IS NULL
            AND i.status <> 'ignored' AND (\(levels) = '{}' OR e.level = ANY (\(levels))) AND \(inReleases)
        """
    }

    // MARK: Crash-free

    private func crashFree(_ transaction: PostgresTransaction) async throws -> Reason? {
        let days = Int32(windowInSeconds / 86_400)
        let (table, counted): (PostgresQuery, PostgresQuery) =
            if measure == .users {
                (
                    "analytics.crash_session_users",
                    "count(DISTINCT e.person), count(DISTINCT e.person) FILTER (WHERE e.crashed)"
                )
            } else {
                ("analytics.crash_sessions", "coalesce(sum(e.sessions), 0), coalesce(sum(e.crashed), 0)")
            }
        let row = try await transaction.query(
            """
            SELECT \(counted) FROM \(table) AS e JOIN analytics.releases AS r ON r.id = e.release
            WHERE e.space = \(space) AND e.day > (now() AT TIME ZONE 'UTC')::date - \(days) AND \(inReleases)
            """)[0]
        let (all, crashed) = (try row.decode(0, as: Int.self), try row.decode(1, as: Int.self))
        guard all >= max(minimum, 1) else { return nil }
        let percent = 100 * (1 - Double(crashed) / Double(all))
        return percent < threshold ? Reason(value: percent) : nil
    }

    /// The condition that the release in row `r` passes the alert's filter. The row may be missing.
    private var inReleases: PostgresQuery {
        "(\(releases) = '{}' OR r.name = ANY (\(releases)) OR r.version = ANY (\(releases)))"
    }

    // MARK: The message

    /// The issues of the message, as JSON objects.
    func issues(_ reason: Reason, _ transaction: PostgresTransaction) async throws -> [String] {
        guard !reason.issues.isEmpty else { return [] }
        let rows = try await transaction.query(
            "SELECT i.id, \(IssueReader.json) \(IssueReader.source) WHERE i.id = ANY (\(reason.issues.map { Int($0.id) }))"
        )
        var texts: [Int64: String] = [:]
        for row in rows { texts[try row.decode(0)] = try row.decode(1) }
        return reason.issues.compactMap { issue in
            texts[issue.id].map { text in issue.value.map { String(text.dropLast()) + #","value":\#($0)}"# } ?? text }
        }
    }

    /// `{"type","timestamp","data"}`, as the Standard Webhooks scheme recommends.
    func message(_ reason: Reason, _ issues: [String]) -> String {
        var data = [
            #""alert":{"id":\#(JSONValue.quote(id.uuidString.lowercased())),"name":\#(JSONValue.quote(name)),"kind":"\#(kind.rawValue)"}"#,
            #""app":\#(JSONValue.quote(appID)),"environment":\#(JSONValue.quote(environment))"#,
        ]
        if let count = reason.count { data.append(#""count":\#(count)"#) }
        if let measure {
            data.append(
                #""measure":"\#(measure.rawValue)","threshold":\#(Self.number(threshold)),"windowSeconds":\#(windowInSeconds)"#
            )
        }
        if let value = reason.value { data.append(#""value":\#(Self.number(value))"#) }
        data.append(#""issues":[\#(issues.joined(separator: ","))]"#)
        return #"{"type":"crash.alert","timestamp":"\#(now)","data":{\#(data.joined(separator: ","))}}"#
    }

    /// With at most three decimal places.
    private static func number(_ value: Double) -> String {
        let thousandths = (value * 1_000).rounded() / 1_000
        return thousandths == thousandths.rounded() && thousandths.magnitude < 1e15
            ? String(Int64(thousandths)) : String(thousandths)
    }
}
