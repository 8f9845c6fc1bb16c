import Crypto
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
    /// Links that are written, since when: most events say what is known. Others may take them away again, so nothing
    /// is known for long.
    private let known = Mutex((links: Set<Link>(), since: ContinuousClock.now))

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Notes who is who, where that is not known yet: the first account that a device has stays its account, of several
    /// here the first in order. Of those who opted out nothing is noted.
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

    /// Merges traits, member by member; what was said later wins, whenever it comes. Those of one person that are noted
    /// together count as said when the last of them was. Of those who opted out, by account or device, nothing is
    /// noted.
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

    /// Who opts out or in: an account that is signed in, a device by its id, or both.
    struct Opting: Sendable {
        var account: Int64?
        var device: Int64?
        /// SHA-256 of the secret that the device showed; nil: it showed none.
        var digest: SHA256.Digest?
        /// Whether the app's own server asks: it needs no secret.
        var isServer = false

        var persons: [Int64] { [account, device].compactMap(\.self) }
    }

    /// An opt-out with another secret is another opt-out: a device is opted out as long as it has at least one.
    static let maximumOptOuts = 8

    /// Always works. An opt-out with a secret is ended by whoever shows that secret; beyond `maximumOptOuts` of a
    /// device it counts as one without.
    func optOut(_ opting: Opting, in space: Space) async throws {
        let digest = opting.digest.map { Data($0) } ?? Data()
        // Sorted, as rows are locked in the order of persons everywhere.
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, opted_out, opt_outs)
            SELECT \(space.id), person, now(), CASE WHEN person = \(opting.device) THEN ARRAY[\(digest)::bytea] ELSE '{}' END
            FROM unnest(\(opting.persons.sorted().map { Int($0) })) AS n (person)
            ON CONFLICT (space, person) DO UPDATE SET opted_out = coalesce(p.opted_out, excluded.opted_out), traits = '{}', opt_outs = CASE
                WHEN p.opt_outs @> excluded.opt_outs THEN p.opt_outs
                WHEN cardinality(p.opt_outs) < \(Self.maximumOptOuts) THEN p.opt_outs || excluded.opt_outs
                WHEN ''::bytea = ANY (p.opt_outs) THEN p.opt_outs
                ELSE p.opt_outs || ''::bytea END
            """)
    }

    /// Ends the account's opt-out, and the device's by the secret that was shown; the app's server ends all of the
    /// device's.
    ///
    /// - Returns: false: the device is opted out, but not with this secret. Then nothing was changed.
    func optIn(_ opting: Opting, in space: Space) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await transaction.execute(
                """
                SELECT FROM analytics.people WHERE space = \(space.id) AND person = ANY (\(opting.persons.map { Int($0) })) ORDER BY person FOR UPDATE
                """)
            if let device = opting.device {
                let rows = try await transaction.query(
                    """
                    SELECT s.digest FROM analytics.people AS p, unnest(p.opt_outs) AS s (digest)
                    WHERE p.space = \(space.id) AND p.person = \(device) AND p.opted_out IS NOT NULL
                    """)
                let known = try rows.map { try $0.decode(0, as: Data.self) }
                let shown = opting.digest.flatMap { digest in known.first { digest == $0 } }
                guard known.isEmpty || opting.isServer || shown != nil else { return false }
                let left: PostgresQuery =
                    opting.isServer ? "'{}'::bytea[]" : "array_remove(opt_outs, \(shown ?? Data())::bytea)"
                try await transaction.execute(
                    """
                    UPDATE analytics.people SET opt_outs = \(left), opted_out = CASE WHEN cardinality(\(left)) = 0 THEN NULL ELSE opted_out END
                    WHERE space = \(space.id) AND person = \(device) AND opted_out IS NOT NULL
                    """)
            }
            if let account = opting.account {
                try await transaction.execute(
                    "UPDATE analytics.people SET opted_out = NULL, opt_outs = '{}' WHERE space = \(space.id) AND person = \(account) AND opted_out IS NOT NULL"
                )
            }
            return true
        }
    }

    /// Since when the first of them is opted out; nil: none is.
    func optedOut(_ persons: [Int64], in space: Space) async throws -> Date? {
        try await postgres.query(
            "SELECT min(opted_out) FROM analytics.people WHERE space = \(space.id) AND person = ANY (\(persons.map { Int($0) }))"
        ).first.flatMap { try $0.decode(0, as: Date?.self) }
    }
}
