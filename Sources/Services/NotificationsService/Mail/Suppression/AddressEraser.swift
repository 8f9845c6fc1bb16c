import MartletPostgres

/// Erases addresses from the unsubscribe and suppression lists and keeps a digest of each, so that the entries stay in
/// effect.
struct AddressEraser: Sendable {
    /// The number of rows per list and transaction.
    static let rowsPerSlice = 500

    let postgres: PostgresClient
    let digest: AddressDigest

    /// Selects the addresses to erase.
    enum Owner: Sendable {
        /// The entries that belong to the user, and the addresses to which mail for the user was sent.
        case user(String)
        /// The address, except for entries that belong to users.
        case address(String)
    }

    /// - Returns: The number of rows erased from each list; `rowsPerSlice` means that there may be more.
    func erase(_ owner: Owner, in space: Int32) async throws -> (unsubscribed: Int, suppressed: Int) {
        let (unsubscribed, suppressed): (PostgresQuery, PostgresQuery) =
            switch owner {
            case .address(let address): ("address = \(address) AND user_id IS NULL", "address = \(address)")
            case .user(let user):
                (
                    "user_id = \(user)",
                    """
                    (user_id = \(user) OR (user_id IS NULL AND address IN (
                        SELECT address FROM notifications.mails WHERE space = \(space) AND user_id = \(user) AND address IS NOT NULL)))
                    """
                )
            }
        return try await postgres.withTransaction { transaction in
            let topics = try await transaction.query(
                """
                DELETE FROM notifications.unsubscribed WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM notifications.unsubscribed WHERE space = \(space) AND \(unsubscribed) LIMIT \(Self.rowsPerSlice) FOR UPDATE))
                RETURNING address, topic
                """
            ).map { (address: try $0.decode(0, as: String.self), topic: try $0.decode(1, as: String.self)) }
            let addresses = try await transaction.query(
                """
                DELETE FROM notifications.mail_suppressed WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM notifications.mail_suppressed WHERE space = \(space) AND \(suppressed) LIMIT \(Self.rowsPerSlice) FOR UPDATE))
                RETURNING address
                """
            ).map { try $0.decode(0, as: String.self) }
            let digests =
                topics.map { (digest.text(of: $0.address, in: space), "unsubscribed", $0.topic) }
                + addresses.map { (digest.text(of: $0, in: space), "suppressed", "") }
            if !digests.isEmpty {
                try await transaction.execute(
                    """
                    INSERT INTO notifications.mail_forgotten (space, digest, kind, topic)
                    SELECT \(space), k.*
                    FROM unnest(\(digests.map(\.0)), \(digests.map(\.1)), \(digests.map(\.2))) AS k ON CONFLICT DO NOTHING
                    """)
            }
            return (topics.count, addresses.count)
        }
    }
}
