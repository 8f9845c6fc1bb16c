import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// What is held of users: the installations where they are signed in.
struct InstallationUserData: UserDataHolder {
    private static let rowsPerSlice = 100
    static let deliveriesPerSlice = 500

    let postgres: PostgresClient
    let spaces: Spaces

    /// An app that is still there makes its installation anew, under the same id, when it next says anything, with
    /// nobody signed in. So what was sent to it, and whether it was opened, is parted from it before: what is left of
    /// that counts, and tells nothing of anybody.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await spaces.owner(of: request)
        let parted = try await partDeliveries(of: user, in: space)
        if parted == Self.deliveriesPerSlice {
            return UserErasure(erased: ["deliveries": parted], next: UserErasure.further)
        }
        let count = try await postgres.execute(
            """
            DELETE FROM notifications.installations WHERE space = \(space.id) AND id IN (
                SELECT id FROM notifications.installations WHERE space = \(space.id) AND user_id = \(user) ORDER BY id LIMIT \(Self.rowsPerSlice))
            """)
        return UserErasure(
            erased: ["installations": count, "deliveries": parted].filter { $0.value > 0 },
            next: count == Self.rowsPerSlice ? UserErasure.further : nil)
    }

    /// A slice of what was sent to the user's installations is as if it had been sent to others that nobody has. One
    /// that is on its way loses its result.
    private func partDeliveries(of user: String, in space: Space) async throws -> Int {
        try await postgres.execute(
            """
            UPDATE notifications.deliveries AS d SET installation = gen_random_uuid(), push_id = gen_random_uuid(), receipt = NULL
            FROM (
                SELECT f.message, f.installation FROM notifications.deliveries AS f
                WHERE f.space = \(space.id) AND f.installation IN (
                    SELECT id FROM notifications.installations WHERE space = \(space.id) AND user_id = \(user) ORDER BY id LIMIT \(Self.rowsPerSlice))
                LIMIT \(Self.deliveriesPerSlice)) AS f
            WHERE d.message = f.message AND d.installation = f.installation
            """, timeout: .seconds(60))
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (user, space) = try await spaces.owner(of: request)
        let place: PostgresQuery = try request.lastID.map { " AND i.id > \($0)" } ?? ""
        let installations = try await postgres.query(
            """
            SELECT \(Installation.columns) FROM notifications.installations AS i
            WHERE i.space = \(space.id) AND i.user_id = \(user)\(place) ORDER BY i.id LIMIT \(Self.rowsPerSlice)
            """
        ).map { try Installation($0) }
        var lines = ByteBuffer()
        for installation in installations {
            lines.writeUserData("installation", installation.json.text)
        }
        return UserDataPortion(
            lines: lines,
            next: installations.count == Self.rowsPerSlice ? installations.last?.id.uuidString.lowercased() : nil)
    }
}
