import Foundation
import MartletCore
import MartletPostgres
import MartletTesting

@testable import AnalyticsCrashes
@testable import AnalyticsService

/// Inserts issues and reports directly into the tables, in the form that `CrashDigester` stores them.
struct CrashData: Sendable {
    let postgres: PostgresClient
    let space: Int32

    init(_ app: AnalyticsApp) async throws {
        postgres = app.postgres
        space = try await app.service.spaces.space(of: app.appID, app.environment).id
    }

    /// 2026-11-01T00:00:00Z plus a number of days.
    static func day(_ days: Double) -> Date { Date(timeIntervalSince1970: 1_793_491_200 + days * 86_400) }

    @discardableResult
    func release(
        _ name: String, version: String = "1.0", sortKey: String? = nil, firstSeen: Date = day(0),
        lastSeen: Date = day(1)
    ) async throws -> Int32 {
        try await postgres.query(
            """
            INSERT INTO analytics.releases (space, name, version, build, sort_key, first_seen, last_seen)
            VALUES (\(space), \(name), \(version), '', \(sortKey), \(firstSeen), \(lastSeen)) RETURNING id
            """)[0].decode(0)
    }

    @discardableResult
    func issue(
        _ number: Int32, _ title: String = "Fault", culprit: String = "", kind: IssueKind = .crash,
        level: CrashLevel = .error,
        status: String = "unresolved", regressed: Date? = nil, firstSeen: Date = day(0), lastSeen: Date = day(1),
        events: Int = 0, users: Int = 0,
        firstRelease: Int32? = nil, lastRelease: Int32? = nil, hashes: [String] = []
    ) async throws -> Int64 {
        let id: Int64 = try await postgres.query(
            """
            INSERT INTO analytics.issues (space, number, title, culprit, kind, platform, level, status, changed, regressed, first_seen, last_seen, events, users,
                first_release, last_release)
            VALUES (\(space), \(number), \(title), \(culprit), \(kind.rawValue), 'cocoa', \(Int16(level.rawValue)), \(status), \(Self.day(0)), \(regressed),
                \(firstSeen), \(lastSeen), \(events), \(users), \(firstRelease), \(lastRelease)) RETURNING id
            """)[0].decode(0)
        try await postgres.execute(
            """
            INSERT INTO analytics.issue_numbers (space, next) VALUES (\(space), \(number + 1))
            ON CONFLICT (space) DO UPDATE SET next = greatest(issue_numbers.next, excluded.next)
            """)
        for hash in hashes {
            try await postgres.execute(
                "INSERT INTO analytics.issue_hashes (space, hash, algorithm, issue) VALUES (\(space), decode(\(hash), 'hex'), 1, \(id))"
            )
        }
        return id
    }

    /// Inserts a report and counts it by day, release, user and tags, but not in the issue's totals.
    @discardableResult
    func report(
        _ issue: Int64, _ id: UUID = UUID(), received: Date = day(1), at: Date? = nil, person: Int = 0,
        release: Int32? = nil, level: CrashLevel = .error,
        configuration: String = "", variants: String = "", message: String = "",
        hash: String = "00000000000000000000000000000000",
        content: String = "{}"
    ) async throws -> UUID {
        let at = at ?? received
        try await postgres.execute(
            """
            INSERT INTO analytics.crash_events (space, event_id, issue, received, at, person, release, level, handled, stage, os, device, configuration,
                variants, message, app_hash, system_hash, algorithm, content)
            VALUES (\(space), \(id), \(issue), \(received), \(at), \(person), \(release), \(Int16(level.rawValue)), FALSE, 'production', 'iOS 19', 'iPhone17,1',
                \(configuration), \(variants), \(message), decode(\(hash), 'hex'), decode('ffffffffffffffffffffffffffffffff', 'hex'), 1, \(PostgresJSON(content)))
            """)
        try await days(issue, at, 1)
        try await tag(issue, "os", "iOS 19", 1)
        if person != 0 {
            try await postgres.execute(
                "INSERT INTO analytics.issue_users (issue, person, last_seen) VALUES (\(issue), \(person), \(at)) ON CONFLICT DO NOTHING"
            )
        }
        if let release {
            try await postgres.execute(
                """
                INSERT INTO analytics.issue_releases AS r (issue, release, events, first_seen, last_seen) VALUES (\(issue), \(release), 1, \(at), \(at))
                ON CONFLICT (issue, release) DO UPDATE SET events = r.events + 1, first_seen = least(r.first_seen, excluded.first_seen),
                    last_seen = greatest(r.last_seen, excluded.last_seen)
                """)
        }
        return id
    }

    func days(_ issue: Int64, _ at: Date, _ events: Int) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.issue_days AS d (issue, day, events) VALUES (\(issue), (\(at) AT TIME ZONE 'UTC')::date, \(events))
            ON CONFLICT (issue, day) DO UPDATE SET events = d.events + excluded.events
            """)
    }

    func tag(_ issue: Int64, _ key: String, _ value: String, _ events: Int) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.issue_tags AS t (issue, key, value, events, last_seen) VALUES (\(issue), \(key), \(value), \(events), \(Self.day(1)))
            ON CONFLICT (issue, key, value) DO UPDATE SET events = t.events + excluded.events
            """)
    }

    func inRelease(_ issue: Int64, _ release: Int32, _ events: Int) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.issue_releases (issue, release, events, first_seen, last_seen)
            VALUES (\(issue), \(release), \(events), \(Self.day(0)), \(Self.day(1)))
            """)
    }

    /// Inserts sessions that began some days ago (UTC).
    func sessions(_ release: Int32, daysAgo: Int, _ sessions: Int, crashed: Int, stage: String = "production")
        async throws
    {
        try await postgres.execute(
            """
            INSERT INTO analytics.crash_sessions (space, release, stage, day, sessions, errored, crashed, abnormal)
            VALUES (\(space), \(release), \(stage), (now() AT TIME ZONE 'UTC')::date - \(Int32(daysAgo)), \(sessions), 0, \(crashed), 0)
            """)
    }

    func sessionUser(_ person: Int, _ release: Int32, daysAgo: Int, crashed: Bool, stage: String = "production")
        async throws
    {
        try await postgres.execute(
            """
            INSERT INTO analytics.crash_session_users (space, day, release, stage, person, crashed)
            VALUES (\(space), (now() AT TIME ZONE 'UTC')::date - \(Int32(daysAgo)), \(release), \(stage), \(person), \(crashed))
            """)
    }

    /// Inserts a history entry that alerts have not processed yet.
    func addHistory(_ issue: Int64, _ kind: String, release: String? = nil) async throws {
        let details = release.map { #"{"release":"\#($0)"}"# } ?? "{}"
        try await postgres.execute(
            """
            INSERT INTO analytics.issue_history (space, issue, kind, author, details, is_announced)
            VALUES (\(space), \(issue), \(kind), 'service', \(PostgresJSON(details)), FALSE)
            """)
    }

    func count(_ table: PostgresQuery, where condition: PostgresQuery = "TRUE") async throws -> Int {
        try await postgres.query("SELECT count(*) FROM analytics.\(table) WHERE \(condition)")[0].decode(0)
    }
}

extension UUID {
    /// A report's id as in responses.
    var reportID: String { uuidString.lowercased().replacing("-", with: "") }
}

extension Answer {
    /// The values of a member in each element of `data`.
    func each(_ member: String) -> [String] {
        guard case .array(let elements) = json?["data"] else { return [] }
        return elements.map { element in member.split(separator: ".").reduce(element) { $0?[$1] }?.text ?? "-" }
    }
}
