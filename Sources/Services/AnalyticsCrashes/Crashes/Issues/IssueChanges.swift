import Foundation
import MartletAPI
import MartletCore
package import MartletHTTP
package import MartletPostgres

/// Changes the state and assignee of issues, and records the author.
package struct IssueChanges: Sendable {
    /// Maximum number of issues in one call.
    static let maximumPerCall = 100
    /// Retries after a deadlock with the digest, which locks issues as reports arrive.
    static let retries = 3

    let postgres: PostgresClient

    package init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Applies the changes to all issues, or to none if one does not exist. Issues that already match are left
    /// unchanged.
    ///
    /// - Throws: `issue-not-found`; `invalid-body` for an unknown release.
    /// - Returns: the issues' ids.
    func make(_ changes: [IssueChange], to numbers: [Int32], by author: Author, in space: Space) async throws -> [Int64]
    {
        try await postgres.withTransaction(serializationRetries: Self.retries) { transaction in
            let issues = try await Self.lock(numbers, in: space, transaction)
            for change in changes { try await Self.make(change, to: issues, by: author, in: space, transaction) }
            return issues
        }
    }

    /// Resolves issues within a transaction, when a ticket is completed. Deleted and already resolved issues are
    /// skipped.
    ///
    /// - Parameter version: The version with the fix. Without one, or if it is unknown, the issues count as resolved in
    ///   the next release.
    package func resolve(
        _ issues: [Int64], in version: String?, by author: Author, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        let open = try await Self.open(issues, in: space, transaction)
        var fix = IssueChange.Fix.nextRelease
        if let version, try await Self.newestRelease(version, preferring: nil, in: space, transaction) != nil {
            fix = .release(version)
        }
        try await Self.make(.resolve(in: fix), to: open, by: author, in: space, transaction)
    }

    /// The ids of the issues that now have these numbers; unknown numbers are skipped.
    static func existing(_ numbers: [Int32], in space: Space, _ transaction: PostgresTransaction) async throws
        -> [Int64]
    {
        try await transaction.query(
            """
            SELECT DISTINCT coalesce(m.issue, i.id) FROM unnest(\(numbers.map { Int($0) })) AS w (number)
            LEFT JOIN analytics.merged_issues AS m ON m.space = \(space.id) AND m.number = w.number
            LEFT JOIN analytics.issues AS i ON i.space = \(space.id) AND i.number = w.number
            WHERE coalesce(m.issue, i.id) IS NOT NULL
            """
        ).map { try $0.decode(0) }
    }

    /// Resolves issues in a release because one of its commits fixes them. Deleted and already resolved issues are
    /// skipped.
    static func resolve(
        _ issues: [Int64], in release: (id: Int32, name: String), because commit: ReleaseCommit, _ space: Space,
        _ transaction: PostgresTransaction
    ) async throws {
        let open = try await Self.open(issues, in: space, transaction).map { Int($0) }
        let details = JSONValue.object([
            .init("how", .string("commit")), .init("release", .string(release.name)), .init("commit", commit.json),
        ])
        try await transaction.execute(
            """
            WITH changed AS (UPDATE analytics.issues SET \(Self.resolving(in: release.id)) WHERE id = ANY (\(open)) RETURNING id)
            INSERT INTO analytics.issue_history (space, issue, kind, author, details)
            SELECT \(space.id), id, 'resolved', \(Author.service.text), \(PostgresJSON(details.text)) FROM changed
            """)
    }

    /// The unresolved issues among these, locked in the order of their ids.
    private static func open(_ issues: [Int64], in space: Space, _ transaction: PostgresTransaction) async throws
        -> [Int64]
    {
        try await transaction.query(
            """
            SELECT id FROM analytics.issues WHERE space = \(space.id) AND deleted IS NULL AND id = ANY (\(issues.map { Int($0) })) AND status <> 'resolved'
            ORDER BY id FOR NO KEY UPDATE
            """
        ).map { try $0.decode(0) }
    }

    private static func resolving(in release: Int32?) -> PostgresQuery {
        """
        status = 'resolved', changed = now(), resolved_in = \(release), regressed = NULL, ignored_until = NULL, ignored_until_events = NULL,
        ignored_until_users = NULL
        """
    }

    /// The ids of the issues that now have these numbers, locked in the order of their ids until the transaction ends.
    ///
    /// - Throws: `issue-not-found` if one does not exist.
    static func lock(_ numbers: [Int32], in space: Space, _ transaction: PostgresTransaction) async throws -> [Int64] {
        let numbers = Set(numbers).map { Int($0) }
        let known = try await transaction.query(
            """
            SELECT w.number, coalesce(m.issue, i.id) FROM unnest(\(numbers)) AS w (number)
            LEFT JOIN analytics.merged_issues AS m ON m.space = \(space.id) AND m.number = w.number
            LEFT JOIN analytics.issues AS i ON i.space = \(space.id) AND i.number = w.number
            """
        ).compactMap { try $0.decode(1, as: Int64?.self) }
        let issues = try await transaction.query(
            "SELECT id FROM analytics.issues WHERE id = ANY (\(known.map { Int($0) })) AND deleted IS NULL ORDER BY id FOR NO KEY UPDATE"
        ).map { try $0.decode(0, as: Int64.self) }
        guard known.count == numbers.count, issues.count == Set(known).count else { throw ServiceError(.issueNotFound) }
        return issues
    }

    private static func make(
        _ change: IssueChange, to issues: [Int64], by author: Author, in space: Space,
        _ transaction: PostgresTransaction
    ) async throws {
        guard case .resolve(let fix) = change, fix != .now else {
            return try await write(update(change, nil), of: issues, by: author, in: space, transaction)
        }
        for (package, issues) in try await packages(of: issues, transaction) {
            let release = try await self.release(fix, preferring: package, in: space, transaction)
            try await write(update(change, release), of: issues, by: author, in: space, transaction)
        }
    }

    private typealias Update = (
        assignments: PostgresQuery, condition: PostgresQuery, kind: String, details: PostgresJSON
    )

    private static func write(
        _ update: Update, of issues: [Int64], by author: Author, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        let (assignments, condition, kind, details) = update
        try await transaction.execute(
            """
            WITH changed AS (
                UPDATE analytics.issues SET \(assignments) WHERE id = ANY (\(issues.map { Int($0) })) AND \(condition) RETURNING id)
            INSERT INTO analytics.issue_history (space, issue, kind, author, details)
            SELECT \(space.id), id, \(kind), \(author.text), \(details) FROM changed
            """)
    }

    /// Groups issues by the package of the release they were last seen in; nil if they have no release.
    private static func packages(of issues: [Int64], _ transaction: PostgresTransaction) async throws -> [(
        package: String?, issues: [Int64]
    )] {
        try await transaction.query(
            """
            SELECT CASE WHEN r.id IS NOT NULL THEN \(ReleaseOrder.package("r")) END, array_agg(i.id ORDER BY i.id)
            FROM analytics.issues AS i LEFT JOIN analytics.releases AS r ON r.id = i.last_release WHERE i.id = ANY (\(issues.map { Int($0) }))
            GROUP BY 1 ORDER BY 1
            """
        ).map { (try $0.decode(0), try $0.decode(1, as: [Int].self).map { Int64($0) }) }
    }

    /// The assignments, the condition, and the kind and details of the history entry for a change.
    private static func update(_ change: IssueChange, _ release: (id: Int32, name: String)?) -> Update {
        switch change {
        case .resolve(let fix):
            let details: [JSONValue.Member] =
                [.init("how", .string(fix.word))] + (release.map { [.init("release", .string($0.name))] } ?? [])
            return (
                Self.resolving(in: release?.id),
                "(status <> 'resolved' OR resolved_in IS DISTINCT FROM \(release?.id))", "resolved",
                PostgresJSON(JSONValue.object(details).text)
            )
        case .ignore(let until, let events, let users):
            let details: [JSONValue.Member] = [
                until.map { .init("until", .string($0.formatted(.iso8601))) },
                events.map { .init("events", .number(String($0))) },
                users.map { .init("users", .number(String($0))) },
            ].compactMap(\.self)
            return (
                """
                status = 'ignored', changed = now(), resolved_in = NULL, regressed = NULL, ignored_until = \(until),
                ignored_until_events = events + \(events), ignored_until_users = users + \(users)
                """,
                "TRUE", "ignored", PostgresJSON(JSONValue.object(details).text)
            )
        case .reopen:
            return (
                """
                status = 'unresolved', changed = now(), resolved_in = NULL, ignored_until = NULL, ignored_until_events = NULL, ignored_until_users = NULL
                """,
                "status <> 'unresolved'", "reopened", PostgresJSON("{}")
            )
        case .assign(let id):
            let name = id?.uuidString.lowercased()
            let details = JSONValue.object([.init("to", name.map { .string($0) } ?? .null)])
            return ("assignee = \(name)", "assignee IS DISTINCT FROM \(name)", "assigned", PostgresJSON(details.text))
        }
    }

    private static func release(
        _ fix: IssueChange.Fix, preferring package: String?, in space: Space, _ transaction: PostgresTransaction
    ) async throws -> (id: Int32, name: String)? {
        switch fix {
        case .now: return nil
        case .nextRelease: return try await newestRelease(nil, preferring: package, in: space, transaction)
        case .release(let name):
            guard let release = try await newestRelease(name, preferring: package, in: space, transaction) else {
                throw ServiceError(.invalidBody, "No report or session came from this release.", field: "release")
            }
            return release
        }
    }

    /// The newest release with this name or version, preferring releases of `package`; nil if there is none.
    private static func newestRelease(
        _ name: String?, preferring package: String?, in space: Space, _ transaction: PostgresTransaction
    ) async throws -> (id: Int32, name: String)? {
        let names: PostgresQuery = name.map { "AND (r.name = \($0) OR r.version = \($0))" } ?? ""
        return try await transaction.query(
            """
            SELECT r.id, r.name FROM analytics.releases AS r WHERE r.space = \(space.id) \(names)
            ORDER BY coalesce(\(ReleaseOrder.package("r")) = \(package)::text, FALSE) DESC, r.sort_key DESC NULLS LAST, r.first_seen DESC, r.id DESC LIMIT 1
            """
        ).first.map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Reopens ignored issues whose time or threshold is reached, at most `maximumPerCall`. Returns their number.
    func endIgnoring() async throws -> Int {
        try await postgres.execute(
            """
            WITH due AS (
                SELECT id FROM analytics.issues WHERE status = 'ignored' AND deleted IS NULL
                    AND (ignored_until <= now() OR users >= ignored_until_users OR events >= ignored_until_events)
                LIMIT \(Self.maximumPerCall) FOR NO KEY UPDATE SKIP LOCKED),
            changed AS (
                UPDATE analytics.issues AS i SET status = 'unresolved', changed = now(), ignored_until = NULL, ignored_until_events = NULL,
                    ignored_until_users = NULL
                FROM due WHERE i.id = due.id RETURNING i.id, i.space)
            INSERT INTO analytics.issue_history (space, issue, kind, author) SELECT space, id, 'unignored', \(Author.service.text) FROM changed
            """)
    }
}

extension IssueChange.Fix {
    fileprivate var word: String {
        switch self {
        case .now: "now"
        case .release: "release"
        case .nextRelease: "nextRelease"
        }
    }
}
