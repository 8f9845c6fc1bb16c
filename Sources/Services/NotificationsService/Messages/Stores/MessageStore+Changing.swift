import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

extension MessageStore {
    /// Holds a message up, or lets it go on: neither planned nor sent further in the meantime. What has left has left.
    ///
    /// - Throws: `message-not-found`; `conflict` for one that is finished.
    func setPaused(_ isPaused: Bool, _ id: UUID, in space: Space) async throws -> Message {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                UPDATE notifications.messages AS m SET is_paused = \(isPaused)
                WHERE m.id = \(id) AND m.space = \(space.id) AND m.finished IS NULL RETURNING \(Message.columns)
                """)
            guard let message = try rows.first.map({ try Message($0) }) else { throw try await refusal(id, in: space, transaction) }
            _ = try await transaction.query("SELECT pg_notify(\(Self.channel), '')")
            if !isPaused, !message.isPlanned {
                let delay = max(0, message.due.timeIntervalSinceNow)
                _ = try await queue.enqueue(
                    PlanMessage.self, .init(message: id), JobOptions(scope: "\(space.id)", delay: .seconds(delay)), in: transaction)
            }
            return message
        }
    }

    /// Cancels a message: what is still queued does not leave, which delivery writes down.
    ///
    /// - Throws: as `setPaused`.
    func cancel(_ id: UUID, in space: Space) async throws -> Message {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                UPDATE notifications.messages AS m SET state = 'cancelled', finished = now(), is_paused = FALSE
                WHERE m.id = \(id) AND m.space = \(space.id) AND m.finished IS NULL RETURNING \(Message.columns)
                """)
            guard let message = try rows.first.map({ try Message($0) }) else { throw try await refusal(id, in: space, transaction) }
            _ = try await transaction.query("SELECT pg_notify(\(Self.channel), '')")
            return message
        }
    }

    private func refusal(_ id: UUID, in space: Space, _ transaction: PostgresTransaction) async throws -> HTTPProblem {
        guard let message = try await find(id, in: space.id, transaction) else { return HTTPProblem(.messageNotFound) }
        return HTTPProblem(.conflict, "The message is \(message.state.rawValue) already.")
    }
}
