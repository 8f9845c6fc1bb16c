import Foundation
import Logging
import MartletBackground
import MartletPostgres

/// Deletes, in small batches, installations whose app has not contacted the server for a long time: the app was
/// deleted, or the device is no longer used.
///
/// Scans the whole table by primary key every few hours. An index on `seen` would have to be updated each time an app
/// is opened. Any number of instances may run this at the same time.
struct InstallationHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(6 * 3_600)
    private static let rowsPerStatement = 2_000

    let postgres: PostgresClient
    let days: Int
    let logger: Logger

    func work() async throws { try await prune() }

    func prune() async throws {
        var cursor: (space: Int32, id: UUID)? = (0, UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        while let (space, id) = cursor, !Task.isCancelled {
            let rows = try await postgres.query(
                """
                WITH page AS (
                    SELECT space, id, seen FROM notifications.installations WHERE (space, id) > (\(space), \(id))
                    ORDER BY space, id LIMIT \(Self.rowsPerStatement)
                ), gone AS (
                    DELETE FROM notifications.installations AS i USING page
                    WHERE i.space = page.space AND i.id = page.id AND i.seen < now() - make_interval(days => \(Int32(days))))
                SELECT space, id FROM page ORDER BY space DESC, id DESC LIMIT 1
                """)
            cursor = try rows.first.map { (try $0.decode(0), try $0.decode(1)) }
        }
    }
}
