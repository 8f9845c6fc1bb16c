import MartletPostgres
import Synchronization

/// A text that many events of a space share.
struct Term: Sendable, Hashable {
    var space: Int32
    var kind: TermKind
    var text: String
}

/// Assigns numbers to terms when they first occur, and caches them.
///
/// Each kind of term has a limit per space (`TermKind.maximum`); further terms count as `(other)`. So an app that sends
/// a new name with every event neither fills the disk nor makes every answer unreadable.
final class Terms: Sendable {
    private static let maximumKnown = 300_000
    /// How long a kind counts as full. It is checked again then, because terms may have been deleted.
    private static let fullLifetime: Duration = .seconds(60)

    private struct Group: Hashable {
        var space: Int32
        var kind: TermKind
    }

    private struct State {
        var numbers: [Term: Int] = [:]
        /// Kinds that are full, with the number of `(other)`. All their terms are in `numbers`.
        var full: [Group: (other: Int, until: ContinuousClock.Instant)] = [:]
    }

    private let postgres: PostgresClient
    private let state = Mutex(State())

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// The number of each term. Creates missing terms while there is room.
    func numbers(of terms: Set<Term>) async throws -> [Term: Int] {
        var (found, missing) = lookUp(terms)
        guard !missing.isEmpty else { return found }
        try await read(missing)
        (found, missing) = lookUp(terms)
        guard !missing.isEmpty else { return found }
        try await make(missing)
        try await read(missing)
        (found, missing) = lookUp(terms)
        for (group, terms) in Dictionary(grouping: missing, by: { Group(space: $0.space, kind: $0.kind) }) {
            let other = try await close(group)
            for term in terms { found[term] = other }
        }
        return found
    }

    private func lookUp(_ terms: Set<Term>) -> (found: [Term: Int], missing: [Term]) {
        let now = ContinuousClock.now
        return state.withLock { state in
            var (found, missing): ([Term: Int], [Term]) = ([:], [])
            for term in terms {
                if let number = state.numbers[term] {
                    found[term] = number
                } else if let full = state.full[Group(space: term.space, kind: term.kind)], full.until > now {
                    found[term] = full.other
                } else {
                    missing.append(term)
                }
            }
            return (found, missing)
        }
    }

    private func read(_ terms: [Term]) async throws {
        remember(
            try await postgres.query(
                """
                SELECT t.id, t.space, t.kind, t.text FROM unnest(\(terms.map { Int($0.space) }), \(terms.map(\.kind.rawValue)), \(terms.map(\.text)))
                    AS w (space, kind, text)
                JOIN analytics.terms AS t ON t.space = w.space AND t.kind = w.kind AND t.text = w.text COLLATE "C"
                """))
    }

    /// Inserts as many terms as there is room for.
    private func make(_ terms: [Term]) async throws {
        // Sorted, so that two transactions that insert the same terms do not deadlock.
        let terms = terms.sorted { ($0.space, $0.kind.rawValue, $0.text) < ($1.space, $1.kind.rawValue, $1.text) }
        try await postgres.execute(
            """
            INSERT INTO analytics.terms (space, kind, text)
            SELECT space, kind, text FROM (
                SELECT *, row_number() OVER (PARTITION BY space, kind) AS number
                FROM unnest(\(terms.map { Int($0.space) }), \(terms.map(\.kind.rawValue)), \(terms.map(\.text)), \(terms.map(\.kind.maximum)))
                    AS w (space, kind, text, maximum)) AS w
            WHERE number <= maximum - (SELECT count(*) FROM analytics.terms AS t WHERE t.space = w.space AND t.kind = w.kind)
            ON CONFLICT DO NOTHING
            """)
    }

    /// Marks a kind as full: caches all its terms, and returns the number of `(other)`.
    private func close(_ group: Group) async throws -> Int {
        try await postgres.execute(
            """
            INSERT INTO analytics.terms (space, kind, text) VALUES (\(group.space), \(group.kind.rawValue), \(TermKind.overflow))
            ON CONFLICT DO NOTHING
            """)
        remember(
            try await postgres.query(
                "SELECT id, space, kind, text FROM analytics.terms WHERE space = \(group.space) AND kind = \(group.kind.rawValue)"
            ))
        let other = Term(space: group.space, kind: group.kind, text: TermKind.overflow)
        return state.withLock { state in
            let number = state.numbers[other] ?? 0
            state.full[group] = (number, ContinuousClock.now + Self.fullLifetime)
            return number
        }
    }

    private func remember(_ rows: PostgresRows) {
        let terms = rows.compactMap { row -> (Term, Int)? in
            guard let kind = (try? row.decode(2, as: Int.self)).flatMap({ TermKind(rawValue: $0) }),
                let number = try? row.decode(0, as: Int.self),
                let space = try? row.decode(1, as: Int32.self), let text = try? row.decode(3, as: String.self)
            else { return nil }
            return (Term(space: space, kind: kind, text: text), number)
        }
        state.withLock { state in
            if state.numbers.count + terms.count > Self.maximumKnown { state = State() }
            for (term, number) in terms { state.numbers[term] = number }
        }
    }
}
