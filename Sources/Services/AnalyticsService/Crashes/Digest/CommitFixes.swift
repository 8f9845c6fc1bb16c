import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry

/// What a commit's message says that it mends: `fixes CRASH-7` the crash issue 7, `closes APP-12, APP-13` tickets by their keys.
///
/// A word (fix, close or resolve, also with -s, -es, -d or -ed), perhaps a colon, then references parted by commas, blanks, `and` or `&`, whatever the
/// case; any number of such phrases.
struct CommitReference: Hashable, Sendable {
    /// Of a message; more are left out.
    static let maximumCount = 20
    /// What is before an issue's number, unless the tickets of the app have the same.
    static let issuePrefix = "CRASH"
    private static let maximumMessageSize = 16 << 10

    /// In capitals.
    var prefix: String
    var number: Int32

    static func list(in message: String) -> [CommitReference] {
        let phrase = /\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b:?\s+((?:[a-z][a-z0-9]{0,9}-[0-9]{1,9}\b(?:\s*(?:,|&|\band\b)\s*|\s+)?)+)/.ignoresCase()
        var known: Set<CommitReference> = []
        var list: [CommitReference] = []
        for match in message.cut(toBytes: maximumMessageSize).matches(of: phrase) {
            for word in match.output.1.matches(of: /([A-Za-z][A-Za-z0-9]*)-([0-9]+)/) {
                guard let number = Int32(word.output.2), number > 0 else { continue }
                let reference = CommitReference(prefix: word.output.1.uppercased(), number: number)
                if known.insert(reference).inserted { list.append(reference) }
                if list.count == maximumCount { return list }
            }
        }
        return list
    }
}

/// Does what commits say that they do when they are told of: each once for a reference, however often and with whatever releases the commit is told.
struct CommitFixes: Sendable {
    /// In one call; what is beyond waits for nothing.
    static let maximumCount = 500
    /// For how long a commit that is told again does nothing.
    private static let rememberedDays = 730

    /// Completes tickets by their numbers.
    typealias CompleteTickets = @Sendable (_ numbers: [Int], _ commit: JSONValue, _ space: Space, _ transaction: PostgresTransaction) async throws -> Void

    let completeTickets: CompleteTickets

    /// Marks issues resolved in the release and completes tickets. References to what is not there do nothing; what is resolved or complete already stays as
    /// it is, and does so also when somebody opens it again and the commit is told another time.
    func apply(_ commits: [ReleaseCommit], of release: (id: Int32, name: String), in space: Space, _ transaction: PostgresTransaction) async throws {
        let wanted = Array(commits.flatMap { commit in commit.fixes.map { (commit: commit, reference: $0) } }.prefix(Self.maximumCount))
        guard !wanted.isEmpty else { return }
        let fresh = try await note(wanted, in: space, transaction)
        // Tickets first, as who completes a ticket together with its issues does.
        for (commit, numbers) in Self.grouped(fresh.filter { $0.isTicket }) {
            try await completeTickets(numbers.map { Int($0) }, commit.json, space, transaction)
        }
        for (commit, numbers) in Self.grouped(fresh.filter { !$0.isTicket }) {
            try await resolve(numbers, release, commit, in: space, transaction)
        }
    }

    private struct Fix {
        var commit: ReleaseCommit
        var isTicket: Bool
        var number: Int32
    }

    /// Of what there is, what was not done before.
    private func note(
        _ wanted: [(commit: ReleaseCommit, reference: CommitReference)], in space: Space, _ transaction: PostgresTransaction
    ) async throws -> [Fix] {
        try await transaction.execute(
            "DELETE FROM analytics.commit_fixes WHERE space = \(space.id) AND at < now() - make_interval(days => \(Int32(Self.rememberedDays)))")
        let rows = try await transaction.query(
            """
            WITH prefix AS (SELECT coalesce((SELECT prefix FROM analytics.ticket_spaces WHERE space = \(space.id)), 'APP') AS prefix),
            wanted AS (
                SELECT q.place, q.sha, q.number, CASE WHEN q.prefix = p.prefix THEN 'ticket' ELSE 'issue' END AS kind
                FROM prefix AS p, unnest(\(wanted.indices.map { $0 }), \(wanted.map(\.commit.id)), \(wanted.map(\.reference.prefix)),
                    \(wanted.map { Int($0.reference.number) })) AS q (place, sha, prefix, number)
                WHERE q.prefix IN (p.prefix, \(CommitReference.issuePrefix))),
            there AS (
                SELECT w.* FROM wanted AS w WHERE CASE w.kind
                    WHEN 'ticket' THEN EXISTS (SELECT FROM analytics.tickets AS t WHERE t.space = \(space.id) AND t.number = w.number AND t.deleted IS NULL)
                    ELSE EXISTS (SELECT FROM analytics.issues AS i WHERE i.space = \(space.id) AND i.number = w.number AND i.deleted IS NULL)
                        OR EXISTS (SELECT FROM analytics.merged_issues AS m WHERE m.space = \(space.id) AND m.number = w.number) END),
            new AS (
                INSERT INTO analytics.commit_fixes (space, "commit", kind, number)
                SELECT DISTINCT \(space.id)::integer, t.sha, t.kind, t.number::integer FROM there AS t ON CONFLICT DO NOTHING RETURNING "commit", kind, number)
            SELECT min(t.place), n.kind = 'ticket', n.number FROM new AS n
            JOIN there AS t ON t.sha = n."commit" AND t.kind = n.kind AND t.number = n.number GROUP BY n."commit", n.kind, n.number ORDER BY 1
            """)
        return try rows.map { row in
            Fix(commit: wanted[try row.decode(0)].commit, isTicket: try row.decode(1), number: try row.decode(2))
        }
    }

    /// In their order.
    private static func grouped(_ fixes: [Fix]) -> [(commit: ReleaseCommit, numbers: [Int32])] {
        fixes.reduce(into: []) { groups, fix in
            if groups.last?.commit.id == fix.commit.id { groups[groups.count - 1].numbers.append(fix.number) } else { groups.append((fix.commit, [fix.number])) }
        }
    }

    private func resolve(
        _ numbers: [Int32], _ release: (id: Int32, name: String), _ commit: ReleaseCommit, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        let issues = try await IssueChanges.known(numbers, in: space, transaction)
        try await IssueChanges.resolve(issues, in: release, because: commit, space, transaction)
    }
}

extension ReleaseCommit {
    /// As histories name it.
    var json: JSONValue {
        .object([.init("id", .string(id)), .init("repository", .string(repository)), .init("author", .string(author)), .init("message", .string(message))])
    }
}
