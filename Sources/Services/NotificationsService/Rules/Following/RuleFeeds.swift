import Foundation
import MartletPostgres

/// How far the change logs of spaces have been acted on, and which copy of the service acts.
///
/// A lease keeps copies from doing the same work twice. That nothing is acted on twice does not hang on it: the cursor moves on in the transaction
/// of the acts, and only from where it was.
struct RuleFeeds: Sendable {
    static let leaseSeconds = 15.0

    let postgres: PostgresClient
    let spaces: Spaces
    /// Whose leases these are.
    let copy: UUID

    /// Spaces whose rules nobody follows, for this copy to follow.
    func claim(atMost limit: Int) async throws -> [Space] {
        let rows = try await postgres.query(
            """
            UPDATE notifications.rule_feeds SET leased_by = \(copy), leased_until = now() + make_interval(secs => \(Self.leaseSeconds))
            WHERE space = ANY (ARRAY(
                SELECT space FROM notifications.rule_feeds WHERE is_active AND leased_until < now()
                ORDER BY leased_until LIMIT \(limit) FOR UPDATE SKIP LOCKED))
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

    /// Prolongs the lease; nil: it is lost, or there is nothing to follow any more.
    func renew(_ space: Space) async throws -> Place? {
        let rows = try await postgres.query(
            """
            UPDATE notifications.rule_feeds SET leased_until = now() + make_interval(secs => \(Self.leaseSeconds))
            WHERE space = \(space.id) AND leased_by = \(copy) AND is_active RETURNING cursor, generation
            """)
        return try rows.first.map { Place(cursor: try $0.decode(0), generation: try $0.decode(1)) }
    }

    func release(_ space: Space) async throws {
        try await postgres.execute(
            "UPDATE notifications.rule_feeds SET leased_until = '-infinity' WHERE space = \(space.id) AND leased_by = \(copy)")
    }

    /// Goes on to `cursor` with what `body` writes; false: the place is another one by now, and nothing was written.
    func advance(
        _ space: Space, from place: Place, to cursor: String, _ body: @Sendable (PostgresTransaction) async throws -> Void
    ) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query("SELECT cursor, generation FROM notifications.rule_feeds WHERE space = \(space.id) FOR UPDATE")
            guard let row = rows.first, try Place(cursor: row.decode(0), generation: row.decode(1)) == place else { return false }
            try await body(transaction)
            try await transaction.execute("UPDATE notifications.rule_feeds SET cursor = \(cursor) WHERE space = \(space.id)")
            return true
        }
    }
}
