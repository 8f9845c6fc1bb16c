import Crypto
import Foundation
import MartletPostgres
import Synchronization

/// Facts about persons that are not in their events: the accounts of devices, traits, and opt-outs.
final class PeopleStore: Sendable {
    /// Traits that would grow beyond this size are no longer merged.
    static let maximumTraitsInBytes = 32 << 10
    private static let maximumCached = 100_000
    private static let cacheLifetime: Duration = .seconds(600)

    /// States that one person is the same as another.
    struct Link: Sendable, Hashable {
        var space: Int
        var person: Int64
        var account: Int64

        fileprivate var key: Key { Key(space: space, person: person) }
    }

    fileprivate struct Key: Hashable {
        var space: Int
        var person: Int64
    }

    struct Traits: Sendable {
        var space: Int
        var person: Int64
        /// The device that sent the traits; `Person.nobody` if it is unknown.
        var device: Int64
        var at: Date
        /// A JSON object as text.
        var text: String
    }

    private let postgres: PostgresClient
    /// A cache of stored links, because most events repeat a link. Another instance may remove a link, so the cache is
    /// cleared regularly.
    private let cache = Mutex((links: Set<Link>(), since: ContinuousClock.now))

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Stores new links. A device keeps its first account, also among the links of one call. Links of persons who opted
    /// out are not stored.
    func record(_ links: [Link]) async throws {
        let cache = cache.withLock { cache in
            if cache.since + Self.cacheLifetime < .now { cache = ([], .now) }
            return cache.links
        }
        var first: [Key: Link] = [:]
        for link in links where !cache.contains(link) && first[link.key] == nil { first[link.key] = link }
        guard !first.isEmpty else { return }
        let new = first.values.sorted { ($0.space, $0.person) < ($1.space, $1.person) }
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, account)
            SELECT space, person, account FROM unnest(\(new.map(\.space)), \(new.map { Int($0.person) }), \(new.map { Int($0.account) }))
                AS n (space, person, account)
            WHERE \(Self.isNotOptedOut("n.account")) ORDER BY space, person
            ON CONFLICT (space, person) DO UPDATE SET account = excluded.account WHERE p.account = 0 AND p.opted_out IS NULL
            """)
        self.cache.withLock { cache in
            if cache.links.count + new.count > Self.maximumCached { cache = ([], .now) }
            cache.links.formUnion(new)
        }
    }

    /// Merges traits, member by member. The latest value of a member wins, in whatever order the values arrive. Traits
    /// of one person that are passed in the same call all get the time of the last of them. Traits of accounts and
    /// devices that opted out are not stored.
    func record(_ traits: [Traits]) async throws {
        guard !traits.isEmpty else { return }
        // One statement for all traits of a person, because concurrent calls wait for the row.
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

    /// The subjects of an opt-out or opt-in: a signed-in account, a device by its id, or both.
    struct OptOutCaller: Sendable {
        var account: Int64?
        var device: Int64?
        /// SHA-256 of the secret that the device presented, if any.
        var digest: SHA256.Digest?
        /// Whether the caller is the app's own server, which needs no secret.
        var isServer = false

        var persons: [Int64] { [account, device].compactMap(\.self) }
    }

    /// Maximum number of opt-outs of a device, each with its own secret. The device is opted out as long as it has at
    /// least one opt-out.
    static let maximumOptOuts = 8

    /// Opts out; never refused. An opt-out with a secret can be ended by presenting that secret. If the device already
    /// has `maximumOptOuts`, the new opt-out is stored without its secret.
    func optOut(_ caller: OptOutCaller, in space: Space) async throws {
        let digest = caller.digest.map { Data($0) } ?? Data()
        // Sorted, because all statements lock rows in the order of persons.
        try await postgres.execute(
            """
            INSERT INTO analytics.people AS p (space, person, opted_out, opt_outs)
            SELECT \(space.id), person, now(), CASE WHEN person = \(caller.device) THEN ARRAY[\(digest)::bytea] ELSE '{}' END
            FROM unnest(\(caller.persons.sorted().map { Int($0) })) AS n (person)
            ON CONFLICT (space, person) DO UPDATE SET opted_out = coalesce(p.opted_out, excluded.opted_out), traits = '{}', opt_outs = CASE
                WHEN p.opt_outs @> excluded.opt_outs THEN p.opt_outs
                WHEN cardinality(p.opt_outs) < \(Self.maximumOptOuts) THEN p.opt_outs || excluded.opt_outs
                WHEN ''::bytea = ANY (p.opt_outs) THEN p.opt_outs
                ELSE p.opt_outs || ''::bytea END
            """)
    }

    /// Ends the account's opt-out and the device's opt-out with the presented secret. The app's server ends all
    /// opt-outs of the device.
    ///
    /// - Returns: false if the device has opted out with other secrets only; then nothing has changed.
    func optIn(_ caller: OptOutCaller, in space: Space) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await transaction.execute(
                """
                SELECT FROM analytics.people WHERE space = \(space.id)
                    AND person = ANY (\(caller.persons.map { Int($0) })) ORDER BY person FOR UPDATE
                """)
            if let device = caller.device {
                let rows = try await transaction.query(
                    """
                    SELECT s.digest FROM analytics.people AS p, unnest(p.opt_outs) AS s (digest)
                    WHERE p.space = \(space.id) AND p.person = \(device) AND p.opted_out IS NOT NULL
                    """)
                let stored = try rows.map { try $0.decode(0, as: Data.self) }
                let presented = caller.digest.flatMap { digest in stored.first { digest == $0 } }
                guard stored.isEmpty || caller.isServer || presented != nil else { return false }
                let remaining: PostgresQuery =
                    caller.isServer ? "'{}'::bytea[]" : "array_remove(opt_outs, \(presented ?? Data())::bytea)"
                try await transaction.execute(
                    """
                    UPDATE analytics.people SET opt_outs = \(remaining),
                        opted_out = CASE WHEN cardinality(\(remaining)) = 0 THEN NULL ELSE opted_out END
                    WHERE space = \(space.id) AND person = \(device) AND opted_out IS NOT NULL
                    """)
            }
            if let account = caller.account {
                try await transaction.execute(
                    "UPDATE analytics.people SET opted_out = NULL, opt_outs = '{}' WHERE space = \(space.id) AND person = \(account) AND opted_out IS NOT NULL"
                )
            }
            return true
        }
    }

    /// When the first of the persons opted out; nil if none did.
    func optedOut(_ persons: [Int64], in space: Space) async throws -> Date? {
        try await postgres.query(
            "SELECT min(opted_out) FROM analytics.people WHERE space = \(space.id) AND person = ANY (\(persons.map { Int($0) }))"
        ).first.flatMap { try $0.decode(0, as: Date?.self) }
    }
}
