import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletSentry

/// A reference in a commit message to something that the commit fixes: `fixes CRASH-7` for crash issue 7, `closes
/// APP-12, APP-13` for tickets by their keys.
///
/// A message may contain any number of such phrases. A phrase is a keyword (fix, close or resolve, also with -s, -es,
/// -d or -ed), an optional colon, then references separated by commas, blanks, `and` or `&`. Case does not matter.
struct CommitReference: Hashable, Sendable {
    /// Maximum number of references per message; further ones are ignored.
    static let maximumCount = 20
    /// The prefix of issue numbers, unless the app's tickets have the same prefix.
    static let issuePrefix = "CRASH"
    private static let maximumMessageSize = 16 << 10

    /// In upper case.
    var prefix: String
    var number: Int32

    static func list(in message: String) -> [CommitReference] {
        var reader = CommitMessageReader(message.cut(toBytes: maximumMessageSize))
        var seen: Set<CommitReference> = []
        var list: [CommitReference] = []
        while list.count < maximumCount, let reference = reader.next() {
            if reference.number > 0, seen.insert(reference).inserted { list.append(reference) }
        }
        return list
    }
}

/// Finds the references in a message in linear time.
private struct CommitMessageReader {
    private static let words: Set<String> = [
        "fix", "fixes", "fixed", "close", "closes", "closed", "resolve", "resolves", "resolved",
    ]
    private static let longestWord = 8

    private let bytes: [UInt8]
    private var position = 0
    /// Whether a reference may follow, because a keyword or another reference has just been read.
    private var isInPhrase = false

    init(_ message: String) {
        bytes = Array(message.utf8)
    }

    mutating func next() -> CommitReference? {
        while position < bytes.count {
            if isInPhrase {
                if let reference = reference() { return reference }
                isInPhrase = false
            } else {
                findPhrase()
            }
        }
        return nil
    }

    /// Moves past the next word, and after a keyword also past its colon and the following blanks.
    private mutating func findPhrase() {
        skip { !Self.isWordPart($0) }
        let start = position
        skip(Self.isWordPart)
        guard position - start <= Self.longestWord,
            Self.words.contains(String(decoding: bytes[start..<position], as: UTF8.self).lowercased())
        else { return }
        let end = position
        if position < bytes.count, bytes[position] == UInt8(ascii: ":") { position += 1 }
        isInPhrase = skip(Self.isBlank) > 0
        if !isInPhrase { position = end }
    }

    /// Reads `APP-12` and the separator after it. If there is no reference here, returns nil and consumes nothing.
    private mutating func reference() -> CommitReference? {
        let start = position
        let letters = skip { Self.isLetter($0) || Self.isDigit($0) }
        let prefix = bytes[start..<position]
        guard (1...10).contains(letters), prefix.first.map(Self.isLetter) == true, position < bytes.count,
            bytes[position] == UInt8(ascii: "-")
        else {
            position = start
            return nil
        }
        position += 1
        let digits = skip(Self.isDigit)
        guard (1...9).contains(digits), position == bytes.count || !Self.isWordPart(bytes[position]),
            let number = Int32(String(decoding: bytes[(position - digits)..<position], as: UTF8.self))
        else {
            position = start
            return nil
        }
        isInPhrase = skipSeparator()
        return CommitReference(prefix: String(decoding: prefix, as: UTF8.self).uppercased(), number: number)
    }

    /// Skips blanks, with at most one comma, `&` or `and` among them. Returns false if there is no separator.
    private mutating func skipSeparator() -> Bool {
        let blanks = skip(Self.isBlank)
        guard position < bytes.count else { return false }
        if bytes[position] == UInt8(ascii: ",") || bytes[position] == UInt8(ascii: "&") {
            position += 1
        } else if blanks > 0, bytes[position...].prefix(3).map({ $0 | 0x20 }) == Array("and".utf8),
            !(bytes.dropFirst(position + 3).first.map(Self.isWordPart) ?? false)
        {
            position += 3
        } else {
            return blanks > 0
        }
        skip(Self.isBlank)
        return true
    }

    @discardableResult
    private mutating func skip(_ holds: (UInt8) -> Bool) -> Int {
        let start = position
        while position < bytes.count, holds(bytes[position]) { position += 1 }
        return position - start
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
    }
}

/// Applies the fixes announced in commit messages. Each reference of a commit is applied once, even if clients send the
/// commit several times or for several releases.
struct CommitFixes: Sendable {
    /// Maximum number of references in one call; the rest are ignored.
    static let maximumCount = 500
    /// How long applied fixes are remembered, so that a commit sent again has no effect.
    private static let rememberedDays = 730

    /// Completes tickets by their numbers.
    typealias CompleteTickets =
        @Sendable (_ numbers: [Int], _ commit: JSONValue, _ space: Space, _ transaction: PostgresTransaction)
        async throws -> Void

    let completeTickets: CompleteTickets

    /// Resolves issues in the release and completes tickets. Unknown references are ignored. Resolved issues and
    /// completed tickets stay as they are. If they are reopened later, sending the same commit again has no effect.
    func apply(
        _ commits: [ReleaseCommit], of release: (id: Int32, name: String), in space: Space,
        _ transaction: PostgresTransaction
    ) async throws {
        let announced = Array(
            commits.flatMap { commit in commit.fixes.map { (commit: commit, reference: $0) } }.prefix(Self.maximumCount)
        )
        guard !announced.isEmpty else { return }
        let new = try await record(announced, in: space, transaction)
        // Tickets before issues, in the same order as when a ticket is completed together with its issues.
        for (commit, numbers) in Self.grouped(new.filter { $0.isTicket }) {
            try await completeTickets(numbers.map { Int($0) }, commit.json, space, transaction)
        }
        for (commit, numbers) in Self.grouped(new.filter { !$0.isTicket }) {
            try await resolve(numbers, release, commit, in: space, transaction)
        }
    }

    private struct Fix {
        var commit: ReleaseCommit
        var isTicket: Bool
        var number: Int32
    }

    /// Records the fixes of existing issues and tickets, and returns those that are new.
    private func record(
        _ announced: [(commit: ReleaseCommit, reference: CommitReference)], in space: Space,
        _ transaction: PostgresTransaction
    ) async throws -> [Fix] {
        try await transaction.execute(
            "DELETE FROM analytics.commit_fixes WHERE space = \(space.id) AND at < now() - make_interval(days => \(Int32(Self.rememberedDays)))"
        )
        let rows = try await transaction.query(
            """
            WITH prefix AS (SELECT coalesce((SELECT prefix FROM analytics.ticket_spaces WHERE space = \(space.id)), 'APP') AS prefix),
            announced AS (
                SELECT q.place, q.sha, q.number, CASE WHEN q.prefix = p.prefix THEN 'ticket' ELSE 'issue' END AS kind
                FROM prefix AS p, unnest(\(announced.indices.map { $0 }), \(announced.map(\.commit.id)), \(announced.map(\.reference.prefix)),
                    \(announced.map { Int($0.reference.number) })) AS q (place, sha, prefix, number)
                WHERE q.prefix IN (p.prefix, \(CommitReference.issuePrefix))),
            there AS (
                SELECT w.* FROM announced AS w WHERE CASE w.kind
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
            Fix(commit: announced[try row.decode(0)].commit, isTicket: try row.decode(1), number: try row.decode(2))
        }
    }

    /// Groups consecutive fixes of the same commit.
    private static func grouped(_ fixes: [Fix]) -> [(commit: ReleaseCommit, numbers: [Int32])] {
        fixes.reduce(into: []) { groups, fix in
            if groups.last?.commit.id == fix.commit.id {
                groups[groups.count - 1].numbers.append(fix.number)
            } else {
                groups.append((fix.commit, [fix.number]))
            }
        }
    }

    private func resolve(
        _ numbers: [Int32], _ release: (id: Int32, name: String), _ commit: ReleaseCommit, in space: Space,
        _ transaction: PostgresTransaction
    ) async throws {
        let issues = try await IssueChanges.existing(numbers, in: space, transaction)
        try await IssueChanges.resolve(issues, in: release, because: commit, space, transaction)
    }
}

extension ReleaseCommit {
    /// The commit as it appears in histories.
    var json: JSONValue {
        .object([
            .init("id", .string(id)), .init("repository", .string(repository)), .init("author", .string(author)),
            .init("message", .string(message)),
        ])
    }
}
