import Foundation
import MartletPostgres
import Synchronization

/// What is known of persons beyond their events: whose a device is, traits, who opted out.
final class PeopleStore: Sendable {
    /// Traits beyond this are not merged any more.
    static let maximumTraitsInBytes = 32 << 10
    private static let maximumKnown = 100_000

    /// That one person turned out to be another.
    struct Link: Sendable, Hashable {
        var space: Int
        var person: Int64
        var account: Int64
    }

    struct Traits: Sendable {
        var space: Int
        var person: Int64
        var at: Date
        /// The text of a JSON object.
        var text: String
    }

    private let postgres: PostgresClient
    /// Links that are written: most events say what is known.
    private let known = Mutex<Set<Link>>([])

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Notes who is who, where that is not known yet: the first account that a device has stays its account.
    func note(_ links: Set<Link>) async throws {
        let fresh = known.withLock { links.subtracting($0) }.sorted { ($0.space, $0.person) < ($1.space, $1.person) }
        guard !fresh.isEmpty else { return }
        var first: [Link] = []
        for link in fresh where first.last.map({ ($0.space, $0.person) == (link.space, link.person) }) != true { first.append(link) }
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, account)
            SELECT space, person, account FROM unnest(\(first.map(\.space)), \(first.map { Int($0.person) }), \(first.map { Int($0.account) }))
                AS n (space, person, account)
            ON CONFLICT (space, person) DO UPDATE SET account = excluded.account WHERE p.account = 0 AND p.opted_out IS NULL
            """)
        known.withLock { known in
            if known.count + fresh.count > Self.maximumKnown { known.removeAll() }
            known.formUnion(fresh)
        }
    }

    /// Merges traits, member by member; what was said later wins, whenever it comes.
    func note(_ traits: [Traits]) async throws {
        var rest = traits.sorted { ($0.space, $0.person, $0.at) < ($1.space, $1.person, $1.at) }
        while !rest.isEmpty {
            // A statement may change a row once.
            var (batch, later): ([Traits], [Traits]) = ([], [])
            for traits in rest {
                if let last = batch.last, last.space == traits.space, last.person == traits.person { later.append(traits) } else { batch.append(traits) }
            }
            try await merge(batch)
            rest = later
        }
    }

    private func merge(_ traits: [Traits]) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, traits, traits_at)
            SELECT space, person, traits::jsonb, timestamptz 'epoch' + at * interval '1 microsecond' FROM unnest(
                \(traits.map(\.space)), \(traits.map { Int($0.person) }), \(traits.map(\.text)),
                \(traits.map { Int($0.at.timeIntervalSince1970 * 1_000_000) })) AS n (space, person, traits, at)
            ON CONFLICT (space, person) DO UPDATE SET
                traits = CASE WHEN excluded.traits_at >= p.traits_at THEN p.traits || excluded.traits ELSE excluded.traits || p.traits END,
                traits_at = greatest(p.traits_at, excluded.traits_at)
            WHERE p.opted_out IS NULL AND octet_length(p.traits::text) + octet_length(excluded.traits::text) <= \(Self.maximumTraitsInBytes)
            """)
    }

    // MARK: Opting out

    func optOut(_ persons: [Int64], in space: Space) async throws {
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, opted_out)
            SELECT \(space.id), person, now() FROM unnest(\(persons.sorted().map { Int($0) })) AS n (person)
            ON CONFLICT (space, person) DO UPDATE SET opted_out = coalesce(p.opted_out, excluded.opted_out), traits = '{}'
            """)
    }

    func optIn(_ persons: [Int64], in space: Space) async throws {
        try await postgres.execute(
            """
            UPDATE analytics.people SET opted_out = NULL WHERE space = \(space.id) AND person = ANY (\(persons.map { Int($0) }))
                AND opted_out IS NOT NULL
            """)
    }

    /// Since when the first of them is opted out; nil: none is.
    func optedOut(_ persons: [Int64], in space: Space) async throws -> Date? {
        try await postgres.query(
            "SELECT min(opted_out) FROM analytics.people WHERE space = \(space.id) AND person = ANY (\(persons.map { Int($0) }))"
        ).first.flatMap { try $0.decode(0, as: Date?.self) }
    }
}
