import Foundation
import MartletJobs
import MartletPostgres

/// Resumes a message with too many queued deliveries for one transaction: recomputes their times page by page, then
/// lets the message continue.
struct ResumeMessage: JobHandler {
    struct Parameters: Codable, Sendable {
        var message: UUID
    }

    static let kind = "messages.resume"
    static let retries = PlanMessage.retries

    let messages: MessageStore

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        for _ in 0..<PlanMessage.pagesInARow {
            try job.check()
            do {
                guard try await step(parameters.message) else { return JobNoResult() }
            } catch let failure as UnreadableMessage {
                try await messages.fail(parameters.message, failure.sentence)
                return JobNoResult()
            }
        }
        throw JobPostponement(by: .zero)
    }

    /// Returns whether there is more to do. False if the message was paused again or is finished.
    private func step(_ id: UUID) async throws -> Bool {
        try await messages.postgres.withTransaction { transaction in
            guard let message = try await MessageStore.locked(id, transaction), !message.state.isFinished else {
                return false
            }
            let rows = try await transaction.query(
                "SELECT resumed_to FROM notifications.messages WHERE id = \(id) AND is_resuming")
            guard let place = try rows.first?.decode(0, as: UUID?.self) else { return false }
            return try await messages.resume(message, after: place, transaction)
        }
    }
}

extension MessageStore {
    /// Recomputes the times of one page of queued deliveries. After the last page the message continues.
    ///
    /// - Returns: Whether there are more pages.
    func resume(_ message: Message, after installation: UUID?, _ transaction: PostgresTransaction) async throws -> Bool
    {
        let last = try await planner.resumePage(of: message, after: installation, transaction)
        try await transaction.execute(
            """
            UPDATE notifications.messages SET is_paused = \(last != nil), is_resuming = \(last != nil), resumed_to = \(last) WHERE id = \(message.id)
            """)
        if last == nil { _ = try await transaction.query("SELECT pg_notify(\(Self.channel), '')") }
        return last != nil
    }
}
