import Foundation
import MartletPostgres

/// Tracks how far the change log of each space has been processed, and which instance processes it.
///
/// A lease keeps instances from doing the same work. An instance keeps its spaces while it renews its heartbeat.
/// Exactly-once processing does not depend on the lease: the cursor advances in the same transaction as the actions,
/// and only from its previous position.
struct RuleFeeds: Sendable {
    static let leaseSeconds = 15.0

    let postgres: PostgresClient
    let spaces: Spaces
    /// The id of this instance, which owns the leases.
    let instance: UUID

    /// Renews the heartbeat of this instance, one row regardless of the number of spaces, and deletes instances that
    /// died long ago.
    func renewHeartbeat() async throws {
        try await postgres.execute(
            """
            WITH gone AS (DELETE FROM notifications.rule_copies WHERE until < now() - interval '1 day')
            INSERT INTO notifications.rule_copies (copy, until) VALUES (\(instance), now() + make_interval(secs => \(Self.leaseSeconds)))
            ON CONFLICT (copy) DO UPDATE SET until = excluded.until
            """)
    }

    /// Claims spaces with rules that no live instance processes.
    ///
    /// - Parameter followed: The spaces that this instance already processes. Others that the table assigns to it count
    ///   as unclaimed.
    func claim(atMost limit: Int, besides followed: [Int]) async throws -> [Space] {
        let rows = try await postgres.query(
            """
            UPDATE notifications.rule_feeds SET leased_by = \(instance) WHERE space = ANY (ARRAY(
                SELECT f.space FROM notifications.rule_feeds AS f
                WHERE f.is_active AND f.space <> ALL (\(followed)) AND f.leased_until < now() AND (f.leased_by = \(instance) OR NOT EXISTS (
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

    struct Position: Sendable, Equatable {
        var cursor: String
        var generation: Int64
    }

    /// The position in the space's log; nil when another instance owns the space or no rule needs it any more.
    func position(in space: Space) async throws -> Position? {
        let rows = try await postgres.query(
            "SELECT cursor, generation FROM notifications.rule_feeds WHERE space = \(space.id) AND leased_by = \(instance) AND is_active"
        )
        return try rows.first.map { Position(cursor: try $0.decode(0), generation: try $0.decode(1)) }
    }

    /// Releases the space.
    ///
    /// - Parameter notifyingOthers: Whether to notify the other instances; false if the release is for lack of work.
    func release(_ space: Space, notifyingOthers: Bool) async throws {
        try await postgres.execute(
            """
            WITH released AS (
                UPDATE notifications.rule_feeds SET leased_by = NULL WHERE space = \(space.id) AND leased_by = \(instance) RETURNING space)
            SELECT pg_notify(\(RuleStore.channel), space::text) FROM released WHERE \(notifyingOthers)
            """)
    }

    /// Stores since when and why the changes of the space cannot be processed, to be shown with its rules.
    ///
    /// - Parameter reason: Nil when processing works again.
    func record(stuck reason: String?, _ space: Space) async throws {
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

    /// Advances the cursor and writes `body` in one transaction. Returns false, without writing anything, if the
    /// position has changed meanwhile.
    func advance(
        _ space: Space, from position: Position, to cursor: String,
        _ body: @Sendable (PostgresTransaction) async throws -> Void
    ) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "SELECT cursor, generation FROM notifications.rule_feeds WHERE space = \(space.id) FOR UPDATE")
            guard let row = rows.first, try Position(cursor: row.decode(0), generation: row.decode(1)) == position
            else { return false }
            try await body(transaction)
            try await transaction.execute(
                "UPDATE notifications.rule_feeds SET cursor = \(cursor) WHERE space = \(space.id)")
            return true
        }
    }
}
