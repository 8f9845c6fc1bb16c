import Foundation
import MartletCore
import MartletJobs

/// The job that delivers an alert, retrying with growing pauses for about four hours until it is accepted.
///
/// Delivery is at least once, under the same id: a webhook whose response is lost is called again. The notifications
/// service, which handles mail and notification rules, deduplicates by id.
struct DeliverAlert: JobHandler {
    static let kind = "crashes.alert"
    static let retries = JobRetries(maximumAttempts: 12, firstDelay: .seconds(10), maximumDelay: .seconds(3_600))
    static let timeLimit: Duration = .seconds(60)
    /// Includes attempts postponed at the receiver's request, which do not count as failures.
    static let maximumAttempts = 50

    struct Parameters: Codable, Sendable {
        var delivery: UUID
    }

    let store: AlertStore
    let deliveries: AlertDeliveryStore
    let target: any AlertTarget

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        let id = parameters.delivery
        guard let attempt = try await deliveries.begin(id),
            let (address, secrets) = try await store.address(of: attempt.alert)
        else {
            return JobNoResult()
        }
        let message = AlertMessage(
            id: id.uuidString.lowercased(), body: attempt.body, secrets: secrets, recipients: attempt.recipients,
            attempt: attempt.number)
        let outcome = try await target.send(message, to: address)
        guard let failure = outcome.failure else {
            try await deliveries.record(outcome, of: id, .done)
            return JobNoResult()
        }
        let isEnd = outcome.isGone || outcome.isFinal || job.isLastAttempt || attempt.number >= Self.maximumAttempts
        try await deliveries.record(outcome, of: id, isEnd ? .dead : .waiting)
        if outcome.isGone { try await store.disable(attempt.alert) }
        if let pause = outcome.retryAfter, !isEnd { throw JobPostponement(by: max(pause, .seconds(1))) }
        throw JobFailure(code: "alert-not-delivered", detail: failure, isFinal: isEnd, cause: outcome.cause)
    }
}
