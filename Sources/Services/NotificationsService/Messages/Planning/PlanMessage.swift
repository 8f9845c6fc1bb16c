import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// Plans a due message page by page. Any instance can continue where another stopped.
struct PlanMessage: JobHandler {
    struct Parameters: Codable, Sendable {
        var message: UUID
    }

    private enum Step {
        case more, last
        /// The message is finished, cancelled or paused. Resuming it enqueues another job.
        case nothing
    }

    static let kind = "messages.plan"
    static let retries = JobRetries(maximumAttempts: 1_000, firstDelay: .seconds(1), maximumDelay: .seconds(60))
    /// The number of pages before the job yields to others.
    static let pagesInARow = 20

    let messages: MessageStore

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        for _ in 0..<Self.pagesInARow {
            try job.check()
            do {
                guard case .more = try await step(parameters.message) else { return JobNoResult() }
            } catch let problem as ServiceError {
                try await messages.fail(parameters.message, problem.detail ?? problem.code.title)
                return JobNoResult()
            } catch let failure as UnreadableMessage {
                try await messages.fail(parameters.message, failure.sentence)
                return JobNoResult()
            }
        }
        throw JobPostponement(by: .zero)
    }

    private func step(_ id: UUID) async throws -> Step {
        try await messages.postgres.withTransaction { transaction in
            guard let message = try await MessageStore.locked(id, transaction), !message.state.isFinished,
                !message.isPlanned, !message.isPaused
            else {
                return .nothing
            }
            return try await messages.planner.planPage(of: message, transaction) ? .last : .more
        }
    }
}
