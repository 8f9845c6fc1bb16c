import Foundation
import MartletHTTP
import MartletJobs

/// The job that tells a webhook what a rule saw, again and again with growing pauses, about four hours long, until it
/// is accepted.
///
/// At least once, under the same id: a receiver that was told and could not say so is told again.
struct DeliverWebhook: JobHandler {
    static let kind = "rules.webhook"
    static let retries = JobRetries(maximumAttempts: 12, firstDelay: .seconds(10), maximumDelay: .seconds(3_600))
    static let timeLimit: Duration = .seconds(60)
    /// Also those that the receiver asked to wait for, which are no failures.
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
            try await webhooks.note(outcome, of: id, .done)
            return JobNoResult()
        }
        // Standard Webhooks: whoever answers 410 wants no more.
        let isEnd = outcome.isGone || job.isLastAttempt || attempt.number >= Self.maximumAttempts
        try await webhooks.note(outcome, of: id, isEnd ? .dead : .waiting)
        if let pause = outcome.retryAfter, !isEnd { throw JobPostponement(by: max(pause, .seconds(1))) }
        throw JobFailure(code: "webhook-not-told", detail: failure, isFinal: isEnd, cause: outcome.cause)
    }
}
