import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

extension MessageStore {
    private static let cancelledInOneTransaction = 5_000

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
            guard !isPaused else { return message }
            if message.isPlanned {
                _ = try await transaction.query("SELECT pg_notify(\(Self.channel), '')")
            } else {
                let delay = max(0, message.due.timeIntervalSinceNow)
                _ = try await queue.enqueue(
                    PlanMessage.self, .init(message: id), JobOptions(scope: "\(space.id)", delay: .seconds(delay)), in: transaction)
            }
            return message
        }
    }

    /// Cancels a message: what is still queued does not leave.
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
            _ = try await queue.enqueue(CancelDeliveries.self, .init(message: id), JobOptions(scope: "\(space.id)"), in: transaction)
            return message
        }
    }

    private func refusal(_ id: UUID, in space: Space, _ transaction: PostgresTransaction) async throws -> HTTPProblem {
        guard let message = try await find(id, in: space.id, transaction) else { return HTTPProblem(.messageNotFound) }
        return HTTPProblem(.conflict, "The message is \(message.state.rawValue) already.")
    }

    /// Marks some of what a cancelled message has queued; false: there is no more.
    func cancelDeliveries(of message: UUID) async throws -> Bool {
        try await postgres.execute(
            """
            UPDATE notifications.deliveries AS d SET state = 'cancelled', updated = now()
            FROM (
                SELECT installation FROM notifications.deliveries WHERE message = \(message) AND state = 'queued'
                LIMIT \(Self.cancelledInOneTransaction) FOR UPDATE SKIP LOCKED) AS some
            WHERE d.message = \(message) AND d.installation = some.installation
            """, timeout: .seconds(60)) > 0
    }
}

/// Marks deliveries of a cancelled message, so that its record says what did not leave.
struct CancelDeliveries: JobHandler {
    struct Parameters: Codable, Sendable {
        var message: UUID
    }

    static let kind = "messages.cancel"
    static let retries = JobRetries(maximumAttempts: 100, maximumDelay: .seconds(60))

    let store: MessageStore

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        while try await store.cancelDeliveries(of: parameters.message) { try job.check() }
        return JobNoResult()
    }
}
