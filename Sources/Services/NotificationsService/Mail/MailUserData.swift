import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

/// What mail has of a user: records of what was sent to them, and what they have unsubscribed from by it. What was sent to an address that somebody
/// named is not known to be theirs.
struct MailUserData: UserDataHolder {
    static let rowsPerSlice = 500

    let postgres: PostgresClient
    let spaces: Spaces

    /// Mail that waits goes, too.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await spaces.owner(of: request)
        let mails = try await postgres.execute(
            """
            DELETE FROM notifications.mails WHERE id IN (
                SELECT id FROM notifications.mails WHERE space = \(space.id) AND user_id = \(user) LIMIT \(Self.rowsPerSlice))
            """)
        if mails == Self.rowsPerSlice { return UserErasure(erased: ["mails": mails], next: UserErasure.further) }
        let unsubscribed = try await postgres.execute("DELETE FROM notifications.unsubscribed WHERE space = \(space.id) AND user_id = \(user)")
        return UserErasure(erased: ["mails": mails, "unsubscribed": unsubscribed].filter { $0.value > 0 })
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (user, space) = try await spaces.owner(of: request)
        let position: PostgresQuery = try request.lastID.map { "AND m.id > \($0)" } ?? ""
        let rows = try await postgres.query(
            """
            SELECT m.id, \(MailStore.json) FROM notifications.mails AS m
            WHERE m.space = \(space.id) AND m.user_id = \(user) \(position) ORDER BY m.id LIMIT \(Self.rowsPerSlice)
            """)
        var lines = ByteBuffer()
        for row in rows { lines.writeUserData("mail", try row.decode(1)) }
        if rows.count == Self.rowsPerSlice, let last: UUID = try rows.last?.decode(0) { return UserDataPortion(lines: lines, next: last.uuidString) }
        let topics = try await postgres.query(
            """
            SELECT jsonb_build_object('address', u.address, 'topic', u.topic, 'since', \(PostgresQuery.rfc3339("u.since")))::text
            FROM notifications.unsubscribed AS u WHERE u.space = \(space.id) AND u.user_id = \(user) ORDER BY u.address, u.topic LIMIT 1000
            """)
        for row in topics { lines.writeUserData("unsubscribed", try row.decode(0)) }
        return UserDataPortion(lines: lines)
    }
}
