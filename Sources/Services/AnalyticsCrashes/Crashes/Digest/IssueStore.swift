import Foundation
import MartletCore
package import MartletPostgres
import MartletSentry

/// Finds, creates and locks issues for the digest.
package struct IssueStore: Sendable {
    /// The maximum number of issues per space. Further reports share one issue, so that invented fingerprints cannot
    /// fill the disk.
    static let maximumIssues = 20_000

    struct Key: Hashable, Sendable {
        var space: Int32
        var hash: String
    }

    /// An issue locked until the end of the transaction.
    struct Locked: Sendable {
        let id: Int64
        var transition: IssueTransition
        var lastRelease: Release?
    }

    let postgres: PostgresClient

    /// Locks these spaces until the end of the transaction: other transactions can neither group reports nor move whole
    /// issues there.
    package static func lock(_ spaces: Set<Int32>, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            SELECT pg_advisory_xact_lock(hashtextextended('martlet.analytics.crashes:' || q.space, 0))
            FROM (SELECT s AS space FROM unnest(\(spaces.sorted().map { Int($0) })) AS s ORDER BY s) AS q
            """)
    }

    /// The issue that each hash belongs to; unknown hashes are missing from the result.
    static func issues(of keys: Set<Key>, _ transaction: PostgresTransaction) async throws -> [Key: Int64] {
        let keys = keys.sorted { ($0.space, $0.hash) < ($1.space, $1.hash) }
        let rows = try await transaction.query(
            """
            SELECT h.space, encode(h.hash, 'hex'), h.issue
            FROM unnest(\(keys.map { Int($0.space) }), \(keys.map(\.hash))) AS q (space, hash)
            JOIN analytics.issue_hashes AS h ON h.space = q.space AND h.hash = decode(q.hash, 'hex')
            ORDER BY h.space, h.hash FOR SHARE OF h
            """)
        var issues: [Key: Int64] = [:]
        for row in rows { issues[Key(space: try row.decode(0), hash: try row.decode(1))] = try row.decode(2) }
        return issues
    }

    /// How many more issues a space may have. As long as the highest issue number is within the limit, this number
    /// serves as the count. After that the existing issues are counted, so deleted issues leave room for new ones.
    static func remaining(in space: Int32, _ transaction: PostgresTransaction) async throws -> Int {
        try await transaction.query(
            """
            SELECT \(Self.maximumIssues) - CASE WHEN n.next <= \(Self.maximumIssues) THEN n.next - 1
                ELSE (SELECT count(*) FROM analytics.issues WHERE space = n.space) END
            FROM analytics.issue_numbers AS n WHERE n.space = \(space)
            """
        ).first?.decode(0) ?? Self.maximumIssues
    }

    /// Creates an issue for each report, with an entry in its history but without events. Returns their ids in the same
    /// order.
    static func create(_ new: [(report: DigestedReport, release: Release?)], _ transaction: PostgresTransaction)
        async throws -> [Int64]
    {
        guard !new.isEmpty else { return [] }
        let reports = new.map(\.report)
        let rows = try await transaction.query(
            """
            WITH q AS (
                SELECT q.*, row_number() OVER (PARTITION BY q.space ORDER BY q.place) AS number
                FROM unnest(\(reports.indices.map { $0 }), \(reports.map { Int($0.space.id) }), \(reports.map(\.issueTitle)), \(reports.map(\.issueCulprit)),
                    \(reports.map(\.kind.rawValue)), \(reports.map(\.platform)), \(reports.map(\.level.rawValue)), \(reports.map(\.at.microseconds)),
                    \(new.map { Int($0.release?.id ?? 0) })) AS q (place, space, title, culprit, kind, platform, level, at, release)),
            numbers AS (
                INSERT INTO analytics.issue_numbers AS n (space, next) SELECT q.space, count(*) + 1 FROM q GROUP BY q.space ORDER BY q.space
                ON CONFLICT (space) DO UPDATE SET next = n.next + EXCLUDED.next - 1 RETURNING n.space, n.next),
            made AS (
                SELECT q.*, n.next - count(*) OVER (PARTITION BY q.space) + q.number - 1 AS own FROM q JOIN numbers AS n ON n.space = q.space),
            issues AS (
                INSERT INTO analytics.issues (space, number, title, culprit, kind, platform, level, changed, first_seen, last_seen, first_release, last_release)
                SELECT m.space, m.own, m.title, m.culprit, m.kind, m.platform, m.level, now(), to_timestamp(m.at / 1e6), to_timestamp(m.at / 1e6),
                    nullif(m.release, 0), nullif(m.release, 0)
                FROM made AS m ORDER BY m.place RETURNING id, space, number)
            SELECT i.id FROM made AS m JOIN issues AS i ON i.space = m.space AND i.number = m.own ORDER BY m.place
            """)
        let issues: [Int64] = try rows.map { try $0.decode(0) }
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_history (space, issue, kind, author, details, is_announced)
            SELECT q.space, q.issue, 'created', 'service', q.details::jsonb, FALSE
            FROM unnest(\(reports.map { Int($0.space.id) }), \(issues.map { Int($0) }), \(reports.map(\.historyDetails))) AS q (space, issue, details)
            """)
        return issues
    }

    /// Assigns hashes to issues; hashes that already belong to an issue are left alone.
    static func add(_ hashes: [(key: Key, issue: Int64)], _ transaction: PostgresTransaction) async throws {
        guard !hashes.isEmpty else { return }
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_hashes (space, hash, algorithm, issue)
            SELECT q.space, decode(q.hash, 'hex'), \(Int16(Grouping.version)), q.issue
            FROM unnest(\(hashes.map { Int($0.key.space) }), \(hashes.map(\.key.hash)), \(hashes.map { Int($0.issue) })) AS q (space, hash, issue)
            ON CONFLICT (space, hash) DO NOTHING
            """)
    }

    /// Locks issues in the order of their ids.
    static func locked(_ ids: Set<Int64>, _ transaction: PostgresTransaction) async throws -> [Int64: Locked] {
        let rows = try await transaction.query(
            """
            SELECT i.id, i.status, i.changed, i.events, i.ignored_until, i.ignored_until_events, r.id, r.sort_key, r.first_seen, r.name, l.id, l.sort_key, l.first_seen, l.name
            FROM analytics.issues AS i LEFT JOIN analytics.releases AS r ON r.id = i.resolved_in LEFT JOIN analytics.releases AS l ON l.id = i.last_release
            WHERE i.id = ANY (\(ids.map { Int($0) })) ORDER BY i.id FOR UPDATE OF i
            """)
        var locked: [Int64: Locked] = [:]
        for row in rows {
            let transition = IssueTransition(
                status: try row.decode(1), resolvedIn: try release(row, 6), changed: try row.decode(2),
                events: try row.decode(3),
                ignoredUntil: try row.decode(4), ignoredUntilEvents: try row.decode(5))
            let issue = Locked(id: try row.decode(0), transition: transition, lastRelease: try release(row, 10))
            locked[issue.id] = issue
        }
        return locked
    }

    private static func release(_ row: PostgresRow, _ column: Int) throws -> Release? {
        guard let id = try row.decode(column, as: Int32?.self) else { return nil }
        return Release(
            id: id, name: try row.decode(column + 3), sortKey: try row.decode(column + 1),
            firstSeen: try row.decode(column + 2))
    }
}

extension DigestedReport {
    /// The details of the history entry that the report causes: JSON.
    var historyDetails: String {
        #"{"event":"\#(eventID.eventID)"\#(release.map { ",\"release\":" + JSONValue.quote($0.text) } ?? "")}"#
    }

    fileprivate var issueTitle: String { isOverflow ? "Reports beyond the maximum number of issues" : grouping.title }
    fileprivate var issueCulprit: String { isOverflow ? "" : grouping.culprit }
    private var isOverflow: Bool { grouping.appHash == Grouping.overflowHash }
}
