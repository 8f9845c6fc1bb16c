import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The user data of mail: records of mail to the user, topics they unsubscribed from, and their suppressed addresses.
///
/// Mail to an address that was named in an order is not attributed to a user, because the address may belong to someone
/// else now. It is deleted after `retentionInDays`, or by `EraseMailAddress`.
struct MailUserData: UserDataHolder {
    static let rowsPerSlice = AddressEraser.rowsPerSlice

    let postgres: PostgresClient
    let spaces: Spaces
    let eraser: AddressEraser

    /// Also deletes queued mail. A digest of suppressed and unsubscribed addresses stays.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await spaces.owner(of: request)
        // The lists come first, because the user's addresses are found through the mails.
        let lists = try await eraser.erase(.user(user), in: space.id)
        let areListsDone = max(lists.unsubscribed, lists.suppressed) < Self.rowsPerSlice
        let mails = areListsDone ? try await eraseMails(of: user, in: space) : 0
        let erased = ["unsubscribed": lists.unsubscribed, "suppressed": lists.suppressed, "mails": mails].filter {
            $0.value > 0
        }
        guard (erased.values.max() ?? 0) >= Self.rowsPerSlice else { return UserErasure(erased: erased) }
        return UserErasure(erased: erased, next: UserErasure.further)
    }

    private func eraseMails(of user: String, in space: Space) async throws -> Int {
        try await postgres.execute(
            """
            DELETE FROM notifications.mails WHERE id IN (
                SELECT id FROM notifications.mails WHERE space = \(space.id) AND user_id = \(user) LIMIT \(Self.rowsPerSlice))
            """)
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
        for row in rows { lines.writeUserData("mail", of: .notifications, try row.decode(1)) }
        if rows.count == Self.rowsPerSlice, let last: UUID = try rows.last?.decode(0) {
            return UserDataPortion(lines: lines, next: last.uuidString)
        }
        let topics = try await postgres.query(
            """
            SELECT jsonb_build_object('address', u.address, 'topic', u.topic, 'since', \(PostgresQuery.rfc3339("u.since")))::text
            FROM notifications.unsubscribed AS u WHERE u.space = \(space.id) AND u.user_id = \(user) ORDER BY u.address, u.topic LIMIT 1000
            """)
        for row in topics { lines.writeUserData("unsubscribed", of: .notifications, try row.decode(0)) }
        let suppressed = try await postgres.query(
            "SELECT \(SuppressedStore.json) FROM notifications.mail_suppressed AS s WHERE s.space = \(space.id) AND s.user_id = \(user) ORDER BY s.address LIMIT 1000"
        )
        for row in suppressed { lines.writeUserData("suppressed", of: .notifications, try row.decode(0)) }
        return UserDataPortion(lines: lines)
    }
}
