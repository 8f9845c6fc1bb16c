import Foundation
import MartletPostgres

/// A report about a mail after the server accepted it.
enum BounceKind: String, Sendable, CaseIterable {
    /// The mailbox does not exist, or no longer exists.
    case hard
    /// A temporary failure: a full mailbox, a server that is down.
    case soft
    /// The reader marked the mail as spam.
    case complaint

    /// Whether the address must not be written to any more.
    var isFinal: Bool { self != .soft }
}

/// The suppression list: addresses that an app no longer writes to.
struct SuppressedStore: Sendable {
    /// The limit for new addresses per space and hour.
    static let maximumPerHour = 10_000
    static let maximumReasonLength = 500

    let postgres: PostgresClient
    let digest: AddressDigest

    /// Adds an address. A complaint overrides a bounce; otherwise repeating the call keeps the kind.
    ///
    /// - Returns: False if the space added too many new addresses in the last hour.
    func add(_ address: String, _ kind: BounceKind, reason: String?, user: String?, mail: UUID?, in space: Int32)
        async throws -> Bool
    {
        try await postgres.execute(
            """
            INSERT INTO notifications.mail_suppressed AS s (space, address, kind, reason, user_id, mail)
            SELECT \(space), \(address), \(kind.rawValue), \(reason), \(user), \(mail)
            WHERE EXISTS (SELECT FROM notifications.mail_suppressed WHERE space = \(space) AND address = \(address))
                OR (SELECT count(*) FROM notifications.mail_suppressed WHERE space = \(space) AND since > now() - interval '1 hour') < \(Self.maximumPerHour)
            ON CONFLICT (space, address) DO UPDATE SET
                kind = CASE WHEN 'complaint' IN (s.kind, excluded.kind) THEN 'complaint' ELSE 'hard' END,
                reason = coalesce(excluded.reason, s.reason), user_id = coalesce(s.user_id, excluded.user_id), mail = coalesce(excluded.mail, s.mail)
            """) > 0
    }

    /// Entries ordered by address, starting after `after`.
    func list(address: String?, after: String?, limit: Int, in space: Space) async throws -> [(
        address: String, json: String
    )] {
        let only: PostgresQuery = address.map { "AND s.address = \($0)" } ?? ""
        let position: PostgresQuery = after.map { "AND s.address > \($0)" } ?? ""
        return try await postgres.query(
            "SELECT s.address, \(Self.json) FROM notifications.mail_suppressed AS s WHERE s.space = \(space.id) \(only) \(position) ORDER BY s.address LIMIT \(limit)"
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    static let json: PostgresQuery = """
        jsonb_build_object('address', s.address, 'kind', s.kind, 'reason', s.reason, 'user', s.user_id, 'mail', s.mail,
            'since', \(PostgresQuery.rfc3339("s.since")))::text
        """

    /// Deletes an entry, or the digest that remained after an erasure.
    ///
    /// - Returns: False if there was nothing.
    func remove(_ address: String, in space: Space) async throws -> Bool {
        try await postgres.query(
            """
            WITH gone AS (DELETE FROM notifications.mail_suppressed WHERE space = \(space.id) AND address = \(address) RETURNING 1),
                forgotten AS (DELETE FROM notifications.mail_forgotten
                    WHERE space = \(space.id) AND digest = \(digest.text(of: address, in: space.id)) AND kind = 'suppressed' RETURNING 1)
            SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM forgotten)
            """)[0].decode(0, as: Int.self) > 0
    }
}
