import Foundation
import MartletHTTP
import MartletJobs

/// Delivers an action of a rule to its webhook. Retries with growing delays for about four hours, until the receiver
/// accepts it.
///
/// Delivers at least once, always with the same id: if the acknowledgement is lost, the request is repeated.
struct DeliverWebhook: JobHandler {
    static let kind = "rules.webhook"
    static let retries = JobRetries(maximumAttempts: 12, firstDelay: .seconds(10), maximumDelay: .seconds(3_600))
    static let timeLimit: Duration = .seconds(60)
    /// Includes attempts that the receiver postponed, which do not count as failures.
    static let maximumAttempts = 50

    struct Parameters: Codable, Sendable {
        var delivery: UUID
    }

    let webhooks: RuleWebhooks

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        let id = parameters.delivery
        guard let attempt = try await webhooks.begin(id) else { return JobNoResult() }
        let outcome = try await webhooks.send(attempt, id: id)
        guard let failure = outcome.failure else {
            try await webhooks.record(outcome, of: id, .done)
            return JobNoResult()
        }
        // In Standard Webhooks, 410 means that the receiver refuses all further deliveries.
        let isEnd = outcome.isGone || job.isLastAttempt || attempt.number >= Self.maximumAttempts
        try await webhooks.record(outcome, of: id, isEnd ? .dead : .waiting)
        if let pause = outcome.retryAfter, !isEnd { throw JobPostponement(by: max(pause, .seconds(1))) }
        throw JobFailure(code: "webhook-not-delivered", detail: failure, isFinal: isEnd, cause: outcome.cause)
    }
}
