import Foundation
import MartletHTTP
import MartletPostgres

/// The table has a message that this version of the service does not understand: words or JSON of another one.
struct UnreadableMessage: Error {
    /// What it did not understand, where that can be told.
    var detail: String?

    /// For the message's `problem`.
    var sentence: String {
        ["This version of the service cannot read the message.", detail].compactMap(\.self).joined(separator: " ")
    }
}

extension MessageStore {
    /// The message that a job works on, for this transaction alone; nil: it has gone.
    ///
    /// - Throws: `UnreadableMessage`; `PostgresError`.
    static func locked(_ id: UUID, _ transaction: PostgresTransaction) async throws -> Message? {
        let rows = try await transaction.query(
            "SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.id = \(id) FOR NO KEY UPDATE")
        guard let row = rows.first else { return nil }
        do {
            return try Message(row)
        } catch {
            throw UnreadableMessage(detail: (error as? HTTPProblem)?.detail)
        }
    }

    /// Ends a message that cannot be sent, and says why; what is queued of it is cancelled, which delivery writes down.
    func fail(_ id: UUID, _ problem: String) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.messages SET state = 'failed', finished = now(), problem = \(problem), is_paused = FALSE, is_resuming = FALSE
            WHERE id = \(id) AND finished IS NULL
            """)
    }
}
