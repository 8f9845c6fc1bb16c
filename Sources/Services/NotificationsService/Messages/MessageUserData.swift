import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The user data of messages: those that the user sent or was the only recipient of, and their id in other messages.
///
/// Deliveries contain no user ids. They are unlinked with the user's installations (`InstallationUserData`).
struct MessageUserData: UserDataHolder {
    static let rowsPerSlice = 200

    let postgres: PostgresClient
    let spaces: Spaces

    /// Deletes messages sent by the user or addressed to the user alone, including queued deliveries. Removes the user
    /// from other messages and from segments.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await spaces.owner(of: request)
        let author = "user:" + user
        let alone = JSONValue.array([.string(user)]).text
        let gone = try await postgres.execute(
            """
            DELETE FROM notifications.messages WHERE id IN (
                SELECT id FROM notifications.messages
                WHERE space = \(space.id) AND (author = \(author) OR users = \([user]) AND audience ->> 'users' = \(alone))
                LIMIT \(Self.rowsPerSlice))
            """, timeout: .seconds(60))
        if gone == Self.rowsPerSlice { return UserErasure(erased: ["messages": gone], next: UserErasure.further) }
        let changed = try await forget(user, in: space)
        if changed == Self.rowsPerSlice { return UserErasure(erased: ["mentions": changed], next: UserErasure.further) }
        let segments = try await forgetInSegments(user, in: space)
        try await postgres.execute(
            "DELETE FROM notifications.client_receipts WHERE space = \(space.id) AND recipient = \("user:" + user)")
        return UserErasure(
            erased: ["messages": gone, "mentions": changed, "segments": segments].filter { $0.value > 0 })
    }

    private func forget(_ user: String, in space: Space) async throws -> Int {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                SELECT id, audience, segment FROM notifications.messages WHERE space = \(space.id) AND users @> \([user]) AND users <> '{}'
                LIMIT \(Self.rowsPerSlice) FOR NO KEY UPDATE
                """)
            for row in rows {
                let id = try row.decode(0, as: UUID.self)
                guard let (audience, segment) = try? Self.audiences(row, without: user) else {
                    // The user cannot be removed from an unreadable message, so delete it.
                    try await transaction.execute(
                        "DELETE FROM notifications.messages WHERE id = \(id)", timeout: .seconds(60))
                    continue
                }
                try await transaction.execute(
                    """
                    UPDATE notifications.messages SET audience = \(audience.json.text)::json, segment = \(segment?.json.text)::json,
                        users = array_remove(users, \(user)) WHERE id = \(id)
                    """)
            }
            return rows.count
        }
    }

    private static func audiences(_ row: PostgresRow, without user: String) throws -> (
        audience: Audience, segment: Audience?
    ) {
        let segment = try row.decode(2, as: PostgresJSON?.self).map {
            try Audience(try JSONValue(parsing: $0.bytes)).without(user)
        }
        return (try Audience(try row.json(1)).without(user), segment)
    }

    private func forgetInSegments(_ user: String, in space: Space) async throws -> Int {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "SELECT name, audience FROM notifications.segments WHERE space = \(space.id) FOR UPDATE")
            var changed = 0
            for row in rows {
                let audience = try Audience(try row.json(1))
                guard audience.namedUsers.contains(user) else { continue }
                changed += 1
                try await transaction.execute(
                    """
                    UPDATE notifications.segments SET audience = \(audience.without(user).json.text)::json, version = version + 1
                    WHERE space = \(space.id) AND name = \(try row.decode(0, as: String.self))
                    """)
            }
            return changed
        }
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (user, space) = try await spaces.owner(of: request)
        let place: PostgresQuery = try request.lastID.map { "AND m.id > \($0)" } ?? ""
        let rows = try await postgres.query(
            """
            SELECT \(Message.columns) FROM notifications.messages AS m
            WHERE m.space = \(space.id) AND (m.author = \("user:" + user) OR m.users @> \([user]) AND m.users <> '{}') \(place)
            ORDER BY m.id LIMIT \(Self.rowsPerSlice)
            """)
        var lines = ByteBuffer()
        var last: UUID?
        for row in rows where lines.readableBytes < 4 << 20 {
            last = try row.decode(0, as: UUID.self)
            // In an unreadable message, the user's part cannot be determined.
            guard let message = try? Message(row) else { continue }
            // A user whom the message excludes by name did not get it, for example because the user had blocked the
            // sender.
            let isSender = message.author == "user:" + user
            guard isSender || !message.audience.exceptUsers.contains(user) else { continue }
            lines.writeUserData("message", of: .notifications, Self.exported(message, to: user).text)
        }
        let end = try rows.last?.decode(0, as: UUID.self)
        let isAll = rows.count < Self.rowsPerSlice && last == end
        return UserDataPortion(lines: lines, next: isAll ? nil : last?.uuidString.lowercased())
    }

    /// Omits the other recipients, unless the user is the sender. Always omits the excluded users: they may have
    /// blocked the sender, and the sender must not see that.
    private static func exported(_ message: Message, to user: String) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("id", .string(message.id.uuidString.lowercased())), .init("content", message.content.json),
            .init("isSender", .bool(message.author == "user:" + user)), .init("due", .string(message.due.rfc3339)),
            .init("created", .string(message.created.rfc3339)),
        ]
        if message.author == "user:" + user {
            var audience = message.audience
            audience.exceptUsers = []
            members.append(.init("audience", audience.json))
        }
        return .object(members)
    }
}

extension Audience {
    /// Removes a user. An audience of only this user then matches no one, rather than everyone.
    func without(_ user: String) -> Audience {
        var audience = self
        audience.users?.removeAll { $0 == user }
        if audience.users?.isEmpty == true { audience.users = [Self.nobody] }
        audience.exceptUsers.removeAll { $0 == user }
        return audience
    }

    /// Stands in for the only user of a list when that user is removed. No user has this id.
    private static let nobody = "-"
}
