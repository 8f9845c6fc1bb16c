import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// Issues, as the digest finds, makes and changes them.
struct IssueStore: Sendable {
    /// Of a space. What comes beyond is one issue: whoever invents fingerprints fills no disk.
    static let maximumIssues = 20_000

    struct Key: Hashable, Sendable {
        var space: Int32
        var hash: String
    }

    /// An issue that is locked until the end of the transaction.
    struct Locked: Sendable {
        let id: Int64
        var transition: IssueTransition
        var lastRelease: Release?
    }

    let postgres: PostgresClient

    /// Waits for others that sort reports of these spaces into issues, or move whole issues. Nobody else does until the end of the transaction.
    static func lock(_ spaces: Set<Int32>, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            SELECT pg_advisory_xact_lock(hashtextextended('martlet.analytics.crashes:' || q.space, 0))
            FROM (SELECT s AS space FROM unnest(\(spaces.sorted().map { Int($0) })) AS s ORDER BY s) AS q
            """)
    }

    /// Which issue each hash leads to; those that lead to none are missing.
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

    /// How many more issues a space may have. Those that are gone do not count; as long as there were fewer ever, nothing is counted.
    static func room(in space: Int32, _ transaction: PostgresTransaction) async throws -> Int {
        try await transaction.query(
            """
            SELECT \(Self.maximumIssues) - CASE WHEN n.next <= \(Self.maximumIssues) THEN n.next - 1
                ELSE (SELECT count(*) FROM analytics.issues WHERE space = n.space) END
            FROM analytics.issue_numbers AS n WHERE n.space = \(space)
            """
        ).first?.decode(0) ?? Self.maximumIssues
    }

    /// Makes an issue of the first report of its kind, with its entry in the history; it has no events yet.
    static func make(_ report: DigestedReport, _ release: Release?, _ transaction: PostgresTransaction) async throws -> Int64 {
        let isOverflow = report.grouping.appHash == Grouping.overflowHash
        let title = isOverflow ? "Reports of more kinds than are told apart" : report.grouping.title
        let rows = try await transaction.query(
            """
            WITH number AS (
                INSERT INTO analytics.issue_numbers AS n (space, next) VALUES (\(report.space.id), 2)
                ON CONFLICT (space) DO UPDATE SET next = n.next + 1 RETURNING next - 1 AS number)
            INSERT INTO analytics.issues (space, number, title, culprit, kind, platform, level, changed, first_seen, last_seen, first_release, last_release)
            SELECT \(report.space.id), number.number, \(title), \(isOverflow ? "" : report.grouping.culprit), \(report.kind.rawValue), \(report.platform),
                \(Int16(report.level.rawValue)), now(), \(report.at), \(report.at), \(release?.id), \(release?.id)
            FROM number RETURNING id
            """)
        let issue: Int64 = try rows[0].decode(0)
        let details = PostgresJSON(#"{"event":"\#(report.eventID.eventID)"\#(report.release.map { ",\"release\":" + JSONValue.quote($0.text) } ?? "")}"#)
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_history (space, issue, kind, author, details, is_announced)
            VALUES (\(report.space.id), \(issue), 'created', 'service', \(details), FALSE)
            """)
        return issue
    }

    /// Lets hashes lead to an issue, where they lead to none.
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
                status: try row.decode(1), resolvedIn: try release(row, 6), changed: try row.decode(2), events: try row.decode(3),
                ignoredUntil: try row.decode(4), ignoredUntilEvents: try row.decode(5))
            let issue = Locked(id: try row.decode(0), transition: transition, lastRelease: try release(row, 10))
            locked[issue.id] = issue
        }
        return locked
    }

    private static func release(_ row: PostgresRow, _ column: Int) throws -> Release? {
        guard let id = try row.decode(column, as: Int32?.self) else { return nil }
        return Release(id: id, name: try row.decode(column + 3), sortKey: try row.decode(column + 1), firstSeen: try row.decode(column + 2))
    }
}

