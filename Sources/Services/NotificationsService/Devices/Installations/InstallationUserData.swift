import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// What is held of users: the installations where they are signed in.
struct InstallationUserData: UserDataHolder {
    private static let rowsPerSlice = 100

    let postgres: PostgresClient
    let spaces: Spaces

    /// An app that is still there makes its installation anew when it next says anything, with nobody signed in.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try await spaces.owner(of: request)
        let count = try await postgres.execute(
            """
            DELETE FROM notifications.installations WHERE space = \(space.id) AND id IN (
                SELECT id FROM notifications.installations WHERE space = \(space.id) AND user_id = \(user) ORDER BY id LIMIT \(Self.rowsPerSlice))
            """)
        return UserErasure(erased: count > 0 ? ["installations": count] : [:], next: count == Self.rowsPerSlice ? "more" : nil)
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
        return UserDataPortion(lines: lines, next: installations.count == Self.rowsPerSlice ? installations.last?.id.uuidString.lowercased() : nil)
    }
}
