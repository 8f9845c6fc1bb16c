import Foundation
import MartletCore
import MartletPostgres

/// The stored message contains words or JSON that this version of the service does not understand.
struct UnreadableMessage: Error {
    /// What could not be read, if known.
    var detail: String?

    /// The text for the message's `problem`.
    var sentence: String {
        ["This version of the service cannot read the message.", detail].compactMap(\.self).joined(separator: " ")
    }
}

extension MessageStore {
    /// Reads a message and locks it for the transaction; nil if it was deleted.
    ///
    /// - Throws: `UnreadableMessage`; `PostgresError`.
    static func locked(_ id: UUID, _ transaction: PostgresTransaction) async throws -> Message? {
        let rows = try await transaction.query(
            "SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.id = \(id) FOR NO KEY UPDATE")
        guard let row = rows.first else { return nil }
        do {
            return try Message(row)
        } catch {
            throw UnreadableMessage(detail: (error as? ServiceError)?.detail)
        }
    }

    /// Fails a message that cannot be sent and stores the reason. Delivery then cancels its queued deliveries.
    func fail(_ id: UUID, _ problem: String) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.messages SET state = 'failed', finished = now(), problem = \(problem), is_paused = FALSE, is_resuming = FALSE
            WHERE id = \(id) AND finished IS NULL
            """)
    }
}
