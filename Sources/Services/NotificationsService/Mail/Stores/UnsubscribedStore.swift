import MartletPostgres

/// The people who unsubscribed from a topic of an app's mail, or from all topics.
struct UnsubscribedStore: Sendable {
    let postgres: PostgresClient
    let digest: AddressDigest

    /// Unsubscribes the address, and the user to whom the mail went. Idempotent.
    func add(_ address: String, _ topic: String, user: String?, in space: Int32) async throws {
        try await postgres.execute(
            """
            INSERT INTO notifications.unsubscribed (space, address, topic, user_id) VALUES (\(space), \(address), \(topic), \(user))
            ON CONFLICT (space, address, topic, coalesce(user_id, '')) DO NOTHING
            """)
    }

    /// Selects entries that match all given properties.
    struct Filter: Sendable {
        var address: String?
        var user: String?
        var topic: String?

        fileprivate var condition: PostgresQuery {
            var condition: PostgresQuery = "TRUE"
            if let address { condition.append(" AND u.address = \(address)" as PostgresQuery) }
            if let user { condition.append(" AND u.user_id = \(user)" as PostgresQuery) }
            if let topic { condition.append(" AND u.topic = \(topic)" as PostgresQuery) }
            return condition
        }
    }

    /// The position after the last entry of a page.
    struct Position: Sendable {
        var address: String
        var topic: String
        /// Empty if the entry belongs to no user.
        var user: String
    }

    /// Entries ordered by address, topic and user, starting after `position`.
    func list(_ filter: Filter, after position: Position?, limit: Int, in space: Space) async throws -> [(
        position: Position, json: String
    )] {
        let condition: PostgresQuery =
            position.map {
                "AND (u.address, u.topic, coalesce(u.user_id, '')) > (\($0.address), \($0.topic), \($0.user))"
            } ?? ""
        return try await postgres.query(
            """
            SELECT u.address, u.topic, coalesce(u.user_id, ''), jsonb_build_object('address', u.address, 'topic', u.topic, 'user', u.user_id,
                'since', \(PostgresQuery.rfc3339("u.since")))::text
            FROM notifications.unsubscribed AS u WHERE u.space = \(space.id) AND \(filter.condition) \(condition)
            ORDER BY u.address, u.topic, coalesce(u.user_id, '') LIMIT \(limit)
            """
        ).map {
            (Position(address: try $0.decode(0), topic: try $0.decode(1), user: try $0.decode(2)), try $0.decode(3))
        }
    }

    /// Deletes entries. With an address, also deletes the digests that remained after an erasure.
    ///
    /// - Returns: False if there was nothing.
    func remove(_ filter: Filter, in space: Space) async throws -> Bool {
        let removed = try await postgres.execute(
            "DELETE FROM notifications.unsubscribed AS u WHERE u.space = \(space.id) AND \(filter.condition)")
        guard let address = filter.address, filter.user == nil else { return removed > 0 }
        let forgotten = try await postgres.execute(
            """
            DELETE FROM notifications.mail_forgotten WHERE space = \(space.id) AND digest = \(digest.text(of: address, in: space.id))
                AND kind = 'unsubscribed' AND (\(filter.topic)::text IS NULL OR topic = \(filter.topic))
            """)
        return removed + forgotten > 0
    }
}
