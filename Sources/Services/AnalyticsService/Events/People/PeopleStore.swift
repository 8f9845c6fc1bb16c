import Foundation
import MartletPostgres
import Synchronization

/// What is known of persons beyond their events: whose a device is, traits, who opted out.
final class PeopleStore: Sendable {
    /// Traits beyond this are not merged any more.
    static let maximumTraitsInBytes = 32 << 10
    private static let maximumKnown = 100_000
    private static let knownFor: Duration = .seconds(600)

    /// That one person turned out to be another.
    struct Link: Sendable, Hashable {
        var space: Int
        var person: Int64
        var account: Int64

        fileprivate var place: Place { Place(space: space, person: person) }
    }

    fileprivate struct Place: Hashable {
        var space: Int
        var person: Int64
    }

    struct Traits: Sendable {
        var space: Int
        var person: Int64
        /// On which it was said; `nobody`: on none that is known.
        var device: Int64
        var at: Date
        /// The text of a JSON object.
        var text: String
    }

    private let postgres: PostgresClient
    /// Links that are written, since when: most events say what is known. Others may take them away again, so nothing is known for long.
    private let known = Mutex((links: Set<Link>(), since: ContinuousClock.now))

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Notes who is who, where that is not known yet: the first account that a device has stays its account, of several here the first in order.
    /// Of those who opted out nothing is noted.
    func note(_ links: [Link]) async throws {
        let known = known.withLock { known in
            if known.since + Self.knownFor < .now { known = ([], .now) }
            return known.links
        }
        var first: [Place: Link] = [:]
        for link in links where !known.contains(link) && first[link.place] == nil { first[link.place] = link }
        guard !first.isEmpty else { return }
        let fresh = first.values.sorted { ($0.space, $0.person) < ($1.space, $1.person) }
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, account)
            SELECT space, person, account FROM unnest(\(fresh.map(\.space)), \(fresh.map { Int($0.person) }), \(fresh.map { Int($0.account) }))
                AS n (space, person, account)
            WHERE \(Self.isNotOptedOut("n.account")) ORDER BY space, person
            ON CONFLICT (space, person) DO UPDATE SET account = excluded.account WHERE p.account = 0 AND p.opted_out IS NULL
            """)
        self.known.withLock { known in
            if known.links.count + fresh.count > Self.maximumKnown { known = ([], .now) }
            known.links.formUnion(fresh)
        }
    }

    /// Merges traits, member by member; what was said later wins, whenever it comes. Those of one person that are noted together count as said when
    /// the last of them was. Of those who opted out, by account or device, nothing is noted.
    func note(_ traits: [Traits]) async throws {
        guard !traits.isEmpty else { return }
        // One statement, however many there are of one person: others wait behind it.
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, traits, traits_at)
            SELECT n.space, n.person, jsonb_object_agg(t.key, t.value ORDER BY n.at, n.number), timestamptz 'epoch' + max(n.at) * interval '1 microsecond'
            FROM unnest(
                \(traits.map(\.space)), \(traits.map { Int($0.person) }), \(traits.map { Int($0.device) }), \(traits.map(\.text)),
                \(traits.map { Int($0.at.timeIntervalSince1970 * 1_000_000) })) WITH ORDINALITY AS n (space, person, device, traits, at, number),
                jsonb_each(n.traits::jsonb) AS t
            WHERE \(Self.isNotOptedOut("n.device"))
            GROUP BY n.space, n.person HAVING octet_length(jsonb_object_agg(t.key, t.value ORDER BY n.at, n.number)::text) <= \(Self.maximumTraitsInBytes)
            ORDER BY n.space, n.person
            ON CONFLICT (space, person) DO UPDATE SET
                traits = CASE WHEN excluded.traits_at >= p.traits_at THEN p.traits || excluded.traits ELSE excluded.traits || p.traits END,
                traits_at = greatest(p.traits_at, excluded.traits_at)
            WHERE p.opted_out IS NULL AND octet_length(p.traits::text) + octet_length(excluded.traits::text) <= \(Self.maximumTraitsInBytes)
            """)
    }

    private static func isNotOptedOut(_ person: PostgresQuery) -> PostgresQuery {
        """
        NOT EXISTS (SELECT FROM analytics.people AS o WHERE o.space = n.space AND o.person = \(person) AND o.opted_out IS NOT NULL)
        """
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
