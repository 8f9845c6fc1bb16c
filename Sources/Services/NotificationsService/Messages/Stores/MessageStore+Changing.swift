import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

extension MessageStore {
    /// Pauses a message: it is neither planned nor sent any further. Deliveries already sent are not affected.
    ///
    /// - Throws: `message-not-found`; `conflict` when the message is finished.
    func pause(_ id: UUID, in space: Space) async throws -> ShownMessage {
        try await set("is_paused = TRUE, is_resuming = FALSE, resumed_to = NULL", of: id, in: space)
    }

    /// Resumes a message. If its timing requires it, the times of queued deliveries are recomputed before anything is
    /// sent: a few thousand at once, more by a job.
    ///
    /// - Throws: As `pause`.
    func resume(_ id: UUID, in space: Space) async throws -> ShownMessage {
        try await postgres.withTransaction { transaction in
            guard let message = try await readable(id, transaction), message.space == space.id,
                !message.state.isFinished
            else {
                throw try await refusal(id, in: space, transaction)
            }
            if message.isPaused { try await continuePlanning(message, transaction) }
            if !message.isPlanned {
                let delay = max(0, message.due.timeIntervalSince(now()))
                _ = try await queue.enqueue(
                    PlanMessage.self, .init(message: id), JobOptions(scope: "\(space.id)", delay: .seconds(delay)),
                    in: transaction)
            }
            return try await shown(id, in: space.id, transaction)
        }
    }

    /// - Throws: `conflict` when this version cannot read the message.
    private func readable(_ id: UUID, _ transaction: PostgresTransaction) async throws -> Message? {
        do {
            return try await Self.locked(id, transaction)
        } catch let failure as UnreadableMessage {
            throw ServiceError(.conflict, failure.sentence)
        }
    }

    private func continuePlanning(_ message: Message, _ transaction: PostgresTransaction) async throws {
        guard message.timing.dependsOnNow else {
            try await transaction.execute(
                "UPDATE notifications.messages SET is_paused = FALSE WHERE id = \(message.id)")
            _ = try await transaction.query("SELECT pg_notify(\(Self.channel), '')")
            return
        }
        guard try await resume(message, after: nil, transaction) else { return }
        _ = try await queue.enqueue(
            ResumeMessage.self, .init(message: message.id), JobOptions(scope: "\(message.space)"), in: transaction)
    }

    /// Cancels a message. Delivery then marks its queued deliveries as cancelled.
    ///
    /// - Throws: As `pause`.
    func cancel(_ id: UUID, in space: Space) async throws -> ShownMessage {
        try await set(
            "state = 'cancelled', finished = now(), is_paused = FALSE, is_resuming = FALSE", of: id, in: space)
    }

    /// Changes a message that is not finished, and notifies the sender.
    private func set(_ values: PostgresQuery, of id: UUID, in space: Space) async throws -> ShownMessage {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                UPDATE notifications.messages AS m SET \(values)
                WHERE m.id = \(id) AND m.space = \(space.id) AND m.finished IS NULL RETURNING \(Message.columns)
                """)
            guard let message = try rows.first.map({ try ShownMessage($0) }) else {
                throw try await refusal(id, in: space, transaction)
            }
            _ = try await transaction.query("SELECT pg_notify(\(Self.channel), '')")
            return message
        }
    }

    private func shown(_ id: UUID, in space: Int32, _ transaction: PostgresTransaction) async throws -> ShownMessage {
        guard let row = try await transaction.query(Self.selection(id, in: space)).first else {
            throw ServiceError(.messageNotFound)
        }
        return try ShownMessage(row)
    }

    private func refusal(_ id: UUID, in space: Space, _ transaction: PostgresTransaction) async throws -> ServiceError {
        let rows = try await transaction.query(
            "SELECT state FROM notifications.messages WHERE id = \(id) AND space = \(space.id)")
        guard let state: String = try rows.first?.decode(0) else { return ServiceError(.messageNotFound) }
        return ServiceError(.conflict, "The message is already \(state).")
    }
}
