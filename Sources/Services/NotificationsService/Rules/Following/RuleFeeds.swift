import Foundation
import MartletPostgres

/// How far the change logs of spaces have been acted on, and which copy of the service acts.
///
/// A lease keeps copies from doing the same work twice: what a copy follows is its own for as long as it says that it
/// is alive. That nothing is acted on twice does not hang on it: the cursor moves on in the transaction of the acts,
/// and only from where it was.
struct RuleFeeds: Sendable {
    static let leaseSeconds = 15.0

    let postgres: PostgresClient
    let spaces: Spaces
    /// Whose leases these are.
    let copy: UUID

    /// Says that this copy is alive, one row however many spaces it follows, and forgets copies that are long gone.
    func beat() async throws {
        try await postgres.execute(
            """
            WITH gone AS (DELETE FROM notifications.rule_copies WHERE until < now() - interval '1 day')
            INSERT INTO notifications.rule_copies (copy, until) VALUES (\(copy), now() + make_interval(secs => \(Self.leaseSeconds)))
            ON CONFLICT (copy) DO UPDATE SET until = excluded.until
            """)
    }

    /// Spaces whose rules nobody follows, for this copy to follow.
    ///
    /// - Parameter followed: which it follows; others that are this copy's by the table are nobody's.
    func claim(atMost limit: Int, besides followed: [Int]) async throws -> [Space] {
        let rows = try await postgres.query(
            """
            UPDATE notifications.rule_feeds SET leased_by = \(copy) WHERE space = ANY (ARRAY(
                SELECT f.space FROM notifications.rule_feeds AS f
                WHERE f.is_active AND f.space <> ALL (\(followed)) AND f.leased_until < now() AND (f.leased_by = \(copy) OR NOT EXISTS (
                    SELECT FROM notifications.rule_copies AS c WHERE c.copy = f.leased_by AND c.until > now()))
                LIMIT \(limit) FOR UPDATE OF f SKIP LOCKED))
            RETURNING space
            """)
        var claimed: [Space] = []
        for row in rows {
            if let space = try await spaces.space(try row.decode(0)) { claimed.append(space) }
        }
        return claimed
    }

    struct Place: Sendable, Equatable {
        var cursor: String
        var generation: Int64
    }

    /// Nil: the space is another copy's, or there is nothing to follow any more.
    func place(_ space: Space) async throws -> Place? {
        let rows = try await postgres.query(
            "SELECT cursor, generation FROM notifications.rule_feeds WHERE space = \(space.id) AND leased_by = \(copy) AND is_active"
        )
        return try rows.first.map { Place(cursor: try $0.decode(0), generation: try $0.decode(1)) }
    }

    /// Leaves the space to others, who are told when this copy has not given it up for want of work.
    func release(_ space: Space, tellingOthers: Bool) async throws {
        try await postgres.execute(
            """
            WITH released AS (
                UPDATE notifications.rule_feeds SET leased_by = NULL WHERE space = \(space.id) AND leased_by = \(copy) RETURNING space)
            SELECT pg_notify(\(RuleStore.channel), space::text) FROM released WHERE \(tellingOthers)
            """)
    }

    /// Keeps since when the space's changes cannot be acted on, for whoever reads its rules.
    ///
    /// - Parameter reason: nil: they can.
    func note(stuck reason: String?, _ space: Space) async throws {
        if let reason {
            try await postgres.execute(
                """
                UPDATE notifications.rule_feeds SET stuck_since = coalesce(stuck_since, now()), stuck_reason = \(reason) WHERE space = \(space.id)
                """)
        } else {
            try await postgres.execute(
                "UPDATE notifications.rule_feeds SET stuck_since = NULL, stuck_reason = NULL WHERE space = \(space.id) AND stuck_since IS NOT NULL"
            )
        }
    }

    /// Goes on to `cursor` with what `body` writes; false: the place is another one by now, and nothing was written.
    func advance(
        _ space: Space, from place: Place, to cursor: String,
        _ body: @Sendable (PostgresTransaction) async throws -> Void
    ) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "SELECT cursor, generation FROM notifications.rule_feeds WHERE space = \(space.id) FOR UPDATE")
            guard let row = rows.first, try Place(cursor: row.decode(0), generation: row.decode(1)) == place else {
                return false
            }
            try await body(transaction)
            try await transaction.execute(
                "UPDATE notifications.rule_feeds SET cursor = \(cursor) WHERE space = \(space.id)")
            return true
        }
    }
}
