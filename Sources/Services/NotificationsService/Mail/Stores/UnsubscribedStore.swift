import MartletPostgres

/// Who wants no more mail of an app about a topic, or about any.
struct UnsubscribedStore: Sendable {
    let postgres: PostgresClient

    /// Once is enough: again changes nothing.
    func add(_ address: String, _ topic: String, user: String?, in space: Int32) async throws {
        try await postgres.execute(
            """
            INSERT INTO notifications.unsubscribed (space, address, topic, user_id) VALUES (\(space), \(address), \(topic), \(user))
            ON CONFLICT (space, address, topic) DO UPDATE SET user_id = coalesce(unsubscribed.user_id, excluded.user_id)
            """)
    }

    func contains(_ address: String, _ topic: String, in space: Space) async throws -> Bool {
        try await !postgres.query(
            """
            SELECT FROM notifications.unsubscribed
            WHERE space = \(space.id) AND address = \(address) AND topic IN (\(topic), \(MailTopic.all)) LIMIT 1
            """
        ).isEmpty
    }

    /// The last of a page.
    struct Place: Sendable {
        var address: String
        var topic: String
    }

    /// By address and topic, from behind `place`.
    func list(address: String?, behind place: Place?, limit: Int, in space: Space) async throws -> [(place: Place, json: String)] {
        let only: PostgresQuery = address.map { "AND u.address = \($0)" } ?? ""
        let position: PostgresQuery = place.map { "AND (u.address, u.topic) > (\($0.address), \($0.topic))" } ?? ""
        return try await postgres.query(
            """
            SELECT u.address, u.topic, jsonb_build_object('address', u.address, 'topic', u.topic, 'since', \(PostgresQuery.rfc3339("u.since")))::text
            FROM notifications.unsubscribed AS u WHERE u.space = \(space.id) \(only) \(position) ORDER BY u.address, u.topic LIMIT \(limit)
            """
        ).map { (Place(address: try $0.decode(0), topic: try $0.decode(1)), try $0.decode(2)) }
    }

    /// - Parameter topic: nil: from whatever it is.
    /// - Returns: false: there was nothing.
    func remove(_ address: String, _ topic: String?, in space: Space) async throws -> Bool {
        try await postgres.execute(
            """
            DELETE FROM notifications.unsubscribed
            WHERE space = \(space.id) AND address = \(address) AND (\(topic)::text IS NULL OR topic = \(topic))
            """) > 0
    }
}
