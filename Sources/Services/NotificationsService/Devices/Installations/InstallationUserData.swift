import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The user data of installations: those where the user is signed in.
struct InstallationUserData: UserDataHolder {
    private static let rowsPerSlice = 100
    static let deliveriesPerSlice = 500

    let postgres: PostgresClient
    let spaces: Spaces

    /// Erases the user's installations. If the app is still installed, it registers again under the same id, with no
    /// user signed in. Delivery records are therefore unlinked first: what remains of them still counts, but identifies
    /// no one.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await spaces.owner(of: request)
        let unlinked = try await unlinkDeliveries(of: user, in: space)
        if unlinked == Self.deliveriesPerSlice {
            return UserErasure(erased: ["deliveries": unlinked], next: UserErasure.further)
        }
        let count = try await postgres.execute(
            """
            DELETE FROM notifications.installations WHERE space = \(space.id) AND id IN (
                SELECT id FROM notifications.installations WHERE space = \(space.id) AND user_id = \(user) ORDER BY id LIMIT \(Self.rowsPerSlice))
            """)
        return UserErasure(
            erased: ["installations": count, "deliveries": unlinked].filter { $0.value > 0 },
            next: count == Self.rowsPerSlice ? UserErasure.further : nil)
    }

    /// Links one batch of the user's delivery records to random ids instead. A delivery in progress loses its result.
    private func unlinkDeliveries(of user: String, in space: Space) async throws -> Int {
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
            lines.writeUserData("installation", of: .notifications, installation.json.text)
        }
        return UserDataPortion(
            lines: lines,
            next: installations.count == Self.rowsPerSlice ? installations.last?.id.uuidString.lowercased() : nil)
    }
}
