import Foundation
import Logging
import MartletBackground
import MartletHTTP
import MartletPostgres

/// The settings for messages.
struct MessageSettings: Sendable {
    /// A finished message and its delivery records are deleted after this many days.
    var retentionInDays = 90

    init() {}

    /// Reads `push.messages.days`.
    init(_ settings: Settings) throws {
        retentionInDays = try settings.integer("push.messages.days", default: 90, in: 1...3_650)
    }
}

/// Deletes old finished messages, a few thousand deliveries at a time. Any number of instances may run this at any
/// time.
struct MessageHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    private static let rowsPerStatement = 5_000

    let postgres: PostgresClient
    let days: Int
    let logger: Logger

    func work() async throws {
        while try await removeOldest() { try Task.checkCancellation() }
        try await postgres.execute(
            "DELETE FROM notifications.client_receipts WHERE since < now() - make_interval(secs => \(Double(ClientRules.maximumSeconds)))",
            timeout: .seconds(60))
    }

    /// Deletes the oldest finished message, or a part of its deliveries. Returns false when no message is old enough.
    func removeOldest() async throws -> Bool {
        let rows = try await postgres.query(
            """
            SELECT id FROM notifications.messages WHERE finished < now() - make_interval(days => \(Int32(days))) ORDER BY finished LIMIT 1
            """)
        guard let id = try rows.first?.decode(0, as: UUID.self) else { return false }
        let removed = try await postgres.execute(
            """
            DELETE FROM notifications.deliveries WHERE message = \(id) AND installation IN (
                SELECT installation FROM notifications.deliveries WHERE message = \(id) LIMIT \(Self.rowsPerStatement))
            """, timeout: .seconds(60))
        if removed < Self.rowsPerStatement {
            try await postgres.execute("DELETE FROM notifications.messages WHERE id = \(id)", timeout: .seconds(60))
        }
        return true
    }
}
