import Foundation
import Logging
import MartletJobs
import MartletPostgres

/// Removes, in small portions, installations whose app has said nothing for a long time: it was deleted, or the device
/// is in a drawer.
///
/// A few times a day the whole table is walked by its key: an index on the time would have to be changed whenever an
/// app is opened. Every copy of the service may do this at any time.
struct InstallationHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(6 * 3_600)
    private static let rowsPerStatement = 2_000

    let postgres: PostgresClient
    let days: Int
    let logger: Logger

    func work() async throws { try await prune() }

    func prune() async throws {
        var place: (space: Int32, id: UUID)? = (0, UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        while let (space, id) = place, !Task.isCancelled {
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
            place = try rows.first.map { (try $0.decode(0), try $0.decode(1)) }
        }
    }
}
