import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Merges issues into one, and splits them again.
struct IssueMerging: Sendable {
    private static let timeout: Duration = .seconds(25)

    /// Moves references to an issue, such as those of tickets, to another issue.
    typealias MoveReferences = @Sendable (_ from: Int64, _ to: Int64, PostgresTransaction) async throws -> Void

    let postgres: PostgresClient
    let moveReferences: MoveReferences

    /// Moves everything that belongs to the other issues to `issue`, including their histories. From then on, the
    /// numbers of the other issues lead to `issue`.
    ///
    /// The issue keeps its state and, if it has one, its assignee. The thresholds of an ignored issue are raised by the
    /// counts of the other issues. Later reports of the other issues are added to `issue`.
    ///
    /// - Throws: `issue-not-found` if one does not exist; nothing is merged then.
    func merge(_ numbers: [Int32], into issue: Int64, by author: Author, in space: Space) async throws {
        try await postgres.withTransaction(serializationRetries: IssueChanges.retries) { transaction in
            try await IssueStore.lock([space.id], transaction)
            guard try await Self.lock(issue, in: space, transaction) else { throw ServiceError(.issueNotFound) }
            let others = try await IssueChanges.lock(numbers, in: space, transaction).filter { $0 != issue }.map {
                Int($0)
            }
            guard !others.isEmpty else { return }
            for other in others { try await moveReferences(Int64(other), issue, transaction) }
            try await Self.record(others, mergedInto: issue, by: author, in: space, transaction)
            for statement in Self.moves(of: others, to: issue, in: space) {
                try await transaction.execute(statement, timeout: Self.timeout)
            }
            try await transaction.execute(
                "DELETE FROM analytics.issues WHERE id = ANY (\(others))", timeout: Self.timeout)
        }
    }

    private static func lock(_ issue: Int64, in space: Space, _ transaction: PostgresTransaction) async throws -> Bool {
        !(try await transaction.query(
            "SELECT FROM analytics.issues WHERE id = \(issue) AND space = \(space.id) AND deleted IS NULL FOR NO KEY UPDATE"
        )).isEmpty
    }

    /// Records the titles of the other issues, so that a later split can restore them.
    private static func record(
        _ others: [Int], mergedInto issue: Int64, by author: Author, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.issue_history (space, issue, kind, author, details)
            SELECT \(space.id), \(issue), 'merged', \(author.text), jsonb_build_object('issues', jsonb_agg(jsonb_build_object(
                'number', i.number, 'title', i.title, 'culprit', i.culprit, 'kind', i.kind, 'platform', i.platform, 'level', i.level,
                'hashes', (SELECT coalesce(jsonb_agg(encode(h.hash, 'hex') ORDER BY h.hash), '[]') FROM analytics.issue_hashes AS h WHERE h.issue = i.id))
                ORDER BY i.id))
            FROM analytics.issues AS i WHERE i.id = ANY (\(others))
            """)
    }

    /// Redirects the numbers of the other issues, and their pending alerts, to the issue.
    static func redirections(of others: [Int], to issue: Int64) -> [PostgresQuery] {
        [
            "UPDATE analytics.merged_issues SET issue = \(issue) WHERE issue = ANY (\(others))",
            "UPDATE analytics.crash_alert_happenings SET issue = \(issue) WHERE issue = ANY (\(others))",
            "INSERT INTO analytics.merged_issues (space, number, issue) SELECT space, number, \(issue) FROM analytics.issues WHERE id = ANY (\(others))",
        ]
    }

    private static func moves(of others: [Int], to issue: Int64, in space: Space) -> [PostgresQuery] {
        redirections(of: others, to: issue) + [
            "UPDATE analytics.issue_hashes SET issue = \(issue) WHERE issue = ANY (\(others))",
            "UPDATE analytics.crash_events SET issue = \(issue) WHERE issue = ANY (\(others))",
            "UPDATE analytics.issue_history SET issue = \(issue) WHERE issue = ANY (\(others))",
            """
            INSERT INTO analytics.issue_days AS t (issue, day, events)
            SELECT \(issue), day, sum(events) FROM analytics.issue_days WHERE issue = ANY (\(others)) GROUP BY day
            ON CONFLICT (issue, day) DO UPDATE SET events = t.events + excluded.events
            """,
            """
            INSERT INTO analytics.issue_releases AS t (issue, release, events, first_seen, last_seen)
            SELECT \(issue), release, sum(events), min(first_seen), max(last_seen) FROM analytics.issue_releases WHERE issue = ANY (\(others)) GROUP BY release
            ON CONFLICT (issue, release) DO UPDATE SET events = t.events + excluded.events, first_seen = least(t.first_seen, excluded.first_seen),
                last_seen = greatest(t.last_seen, excluded.last_seen)
            """,
            """
            INSERT INTO analytics.issue_users AS t (issue, person, last_seen)
            SELECT \(issue), person, max(last_seen) FROM analytics.issue_users WHERE issue = ANY (\(others)) GROUP BY person
            ON CONFLICT (issue, person) DO UPDATE SET last_seen = greatest(t.last_seen, excluded.last_seen)
            """,
            """
            INSERT INTO analytics.issue_tags AS t (issue, key, value, events, last_seen)
            SELECT \(issue), key, value, sum(events), max(last_seen) FROM analytics.issue_tags WHERE issue = ANY (\(others)) GROUP BY key, value
            ON CONFLICT (issue, key, value) DO UPDATE SET events = t.events + excluded.events, last_seen = greatest(t.last_seen, excluded.last_seen)
            """,
            """
            UPDATE analytics.issues AS i SET level = greatest(i.level, o.level), kind = CASE WHEN o.crash THEN 'crash' ELSE i.kind END,
                assignee = coalesce(i.assignee, o.assignee), first_seen = least(i.first_seen, o.first_seen),
                last_seen = greatest(i.last_seen, o.last_seen), events = i.events + o.events,
                users = u.users, ignored_until_events = i.ignored_until_events + o.events,
                ignored_until_users = i.ignored_until_users + greatest(u.users - i.users, 0)
            FROM (SELECT count(*) AS users FROM analytics.issue_users WHERE issue = \(issue)) AS u, (SELECT max(level) AS level, bool_or(kind = 'crash') AS crash,
                (array_agg(assignee ORDER BY id) FILTER (WHERE assignee IS NOT NULL))[1] AS assignee, min(first_seen) AS first_seen,
                max(last_seen) AS last_seen, sum(events) AS events FROM analytics.issues WHERE id = ANY (\(others))) AS o
            WHERE i.id = \(issue)
            """,
            IssueStatistics.releases(of: issue),
        ]
    }

    /// Moves the reports with these hashes into a new issue and returns its id and number. The new issue gets the title
    /// that an issue with these hashes had before a merge. Without such a merge, the title comes from the newest of the
    /// reports.
    ///
    /// The counts of stored reports move with the reports. The counts of deleted reports stay.
    ///
    /// - Parameter hashes: Some of the issue's hashes, but not all: 32 hexadecimal digits each.
    /// - Throws: `issue-not-found`; `conflict` if one of the hashes is not the issue's, or if it would have none left.
    func split(_ hashes: [String], from issue: Int64, by author: Author, in space: Space) async throws -> (
        id: Int64, number: Int
    ) {
        try await postgres.withTransaction(serializationRetries: IssueChanges.retries) { transaction in
            try await IssueStore.lock([space.id], transaction)
            guard try await Self.lock(issue, in: space, transaction) else { throw ServiceError(.issueNotFound) }
            let own = try await transaction.query(
                "SELECT encode(hash, 'hex') FROM analytics.issue_hashes WHERE issue = \(issue)"
            ).map {
                try $0.decode(0, as: String.self)
            }
            guard Set(hashes).isSubset(of: own) else {
                throw ServiceError(.conflict, "The issue does not have all of these hashes.", field: "hashes")
            }
            guard Set(hashes).count < own.count else {
                throw ServiceError(.conflict, "The issue would have no hash left.", field: "hashes")
            }
            let (new, number) = try await Self.make(hashes, from: issue, in: space, transaction)
            let moving: PostgresQuery = "SELECT decode(hash, 'hex') FROM unnest(\(hashes)) AS h (hash)"
            try await transaction.execute(
                "UPDATE analytics.issue_hashes SET issue = \(new) WHERE space = \(space.id) AND hash IN (\(moving))")
            try await transaction.execute(
                "UPDATE analytics.crash_events SET issue = \(new) WHERE issue = \(issue) AND (app_hash IN (\(moving)) OR system_hash IN (\(moving)))",
                timeout: Self.timeout)
            for statement in IssueStatistics.split(new, from: issue) {
                try await transaction.execute(statement, timeout: Self.timeout)
            }
            let details = PostgresJSON(
                JSONValue.object([.init("hashes", .array(Set(hashes).sorted().map { .string($0) }))]).text)
            try await transaction.execute(
                """
                INSERT INTO analytics.issue_history (space, issue, kind, author, details) VALUES
                (\(space.id), \(issue), 'parted', \(author.text),
                    \(details) || jsonb_build_object('to', (SELECT number FROM analytics.issues WHERE id = \(new)))),
                (\(space.id), \(new), 'parted', \(author.text),
                    \(details) || jsonb_build_object('from', (SELECT number FROM analytics.issues WHERE id = \(issue))))
                """)
            return (new, number)
        }
    }

    /// Inserts a new, unresolved issue without reports.
    private static func make(_ hashes: [String], from issue: Int64, in space: Space, _ transaction: PostgresTransaction)
        async throws -> (id: Int64, number: Int)
    {
        let rows = try await transaction.query(
            """
            WITH number AS (
                INSERT INTO analytics.issue_numbers AS n (space, next) VALUES (\(space.id), 2)
                ON CONFLICT (space) DO UPDATE SET next = n.next + 1 RETURNING next - 1 AS number),
            former AS (
                SELECT m FROM analytics.issue_history AS h, jsonb_array_elements(h.details -> 'issues') AS m
                WHERE h.issue = \(issue) AND h.kind = 'merged' AND m -> 'hashes' ?| \(hashes) ORDER BY h.id DESC LIMIT 1),
            newest AS (
                SELECT content #> '{exception,values,-1}' AS exception, message, level FROM analytics.crash_events
                WHERE issue = \(issue) AND encode(app_hash, 'hex') = ANY (\(hashes)) ORDER BY received DESC, id DESC LIMIT 1)
            INSERT INTO analytics.issues (space, number, title, culprit, kind, platform, level, changed, first_seen, last_seen)
            SELECT i.space, number.number,
                coalesce((SELECT m ->> 'title' FROM former), (SELECT concat_ws(': ', nullif(exception ->> 'type', ''),
                    nullif(left(split_part(exception ->> 'value', E'\\n', 1), 200), '')) FROM newest WHERE exception IS NOT NULL),
                    (SELECT nullif(message, '') FROM newest), i.title),
                coalesce((SELECT m ->> 'culprit' FROM former), i.culprit), coalesce((SELECT m ->> 'kind' FROM former), i.kind),
                coalesce((SELECT m ->> 'platform' FROM former), i.platform), i.level, now(), i.first_seen, i.last_seen
            FROM analytics.issues AS i, number WHERE i.id = \(issue) RETURNING id, number
            """)
        return (try rows[0].decode(0), try rows[0].decode(1))
    }

    /// The issue's hashes, each with the number of its stored reports and the newest of them.
    func hashes(of issue: Int64) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object('hash', encode(h.hash, 'hex'), 'algorithm', h.algorithm, 'events', e.events, 'newest', e.newest, 'message', e.message)::text
            FROM analytics.issue_hashes AS h, LATERAL (
                SELECT count(*) AS events, (array_agg(replace(event_id::text, '-', '') ORDER BY received DESC, id DESC))[1] AS newest,
                    (array_agg(message ORDER BY received DESC, id DESC))[1] AS message
                FROM analytics.crash_events WHERE issue = h.issue AND (app_hash = h.hash OR system_hash = h.hash)) AS e
            WHERE h.issue = \(issue) ORDER BY e.events DESC, h.hash LIMIT 1000
            """, timeout: Self.timeout
        ).map { try $0.decode(0) }
    }
}
