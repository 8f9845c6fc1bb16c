import MartletPostgres

/// Decides whether an address may be written to: it is neither unsubscribed nor suppressed.
struct MailPermission: Sendable {
    let postgres: PostgresClient
    let digest: AddressDigest

    /// Why the address may not be written to; nil if it may. A user's unsubscription applies to the address, and to the
    /// user at any later address.
    ///
    /// - Parameters:
    ///   - user: The owner of the address, if known.
    ///   - topic: Nil for mail that cannot be unsubscribed from.
    func refusal(of address: String, user: String?, topic: String?, in space: Int32) async throws -> MailWriter.Refusal?
    {
        let digest = digest.text(of: address, in: space)
        let row = try await postgres.query(
            """
            SELECT
                (SELECT kind FROM notifications.mail_suppressed WHERE space = \(space) AND address = \(address)),
                EXISTS (SELECT FROM notifications.mail_forgotten WHERE space = \(space) AND digest = \(digest) AND kind = 'suppressed'),
                \(topic)::text IS NOT NULL AND (
                    EXISTS (SELECT FROM notifications.unsubscribed
                        WHERE space = \(space) AND address = \(address) AND topic IN (\(topic), \(MailTopic.all)))
                    OR EXISTS (SELECT FROM notifications.unsubscribed
                        WHERE space = \(space) AND user_id = \(user) AND topic IN (\(topic), \(MailTopic.all)))
                    OR EXISTS (SELECT FROM notifications.mail_forgotten
                        WHERE space = \(space) AND digest = \(digest) AND kind = 'unsubscribed' AND topic IN (\(topic), \(MailTopic.all))))
            """)[0]
        if let kind: String = try row.decode(0) {
            return .suppressed(kind == "complaint" ? "complaint" : "hard bounce")
        }
        if try row.decode(1) { return .suppressed("address erased") }
        return try row.decode(2) ? .unsubscribed : nil
    }
}
