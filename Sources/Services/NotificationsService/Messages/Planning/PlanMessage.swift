import Foundation
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Plans a message when it is due, page by page; any copy of the service may go on where another one stopped.
struct PlanMessage: JobHandler {
    struct Parameters: Codable, Sendable {
        var message: UUID
    }

    private enum Step {
        case more, last
        /// Finished, cancelled or held up: whoever lets it go on makes another job.
        case nothing
    }

    static let kind = "messages.plan"
    static let retries = JobRetries(maximumAttempts: 1_000, firstDelay: .seconds(1), maximumDelay: .seconds(60))
    /// Pages before other jobs get their turn.
    static let pagesInARow = 20

    let postgres: PostgresClient
    let planner = MessagePlanner()

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        for _ in 0..<Self.pagesInARow {
            try job.check()
            do {
                guard case .more = try await step(parameters.message) else { return JobNoResult() }
            } catch let problem as HTTPProblem {
                try await fail(parameters.message, problem)
                return JobNoResult()
            }
        }
        throw JobPostponement(by: .zero)
    }

    private func step(_ id: UUID) async throws -> Step {
        try await postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "SELECT \(Message.columns) FROM notifications.messages AS m WHERE m.id = \(id) FOR NO KEY UPDATE")
            guard let message = try rows.first.map({ try Message($0) }), !message.state.isFinished, !message.isPlanned, !message.isPaused else {
                return .nothing
            }
            return try await planner.planPage(of: message, transaction) ? .last : .more
        }
    }

    private func fail(_ id: UUID, _ problem: HTTPProblem) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.messages SET state = 'failed', finished = now(), problem = \(problem.detail ?? problem.code.title)
            WHERE id = \(id) AND finished IS NULL
            """)
    }
}
