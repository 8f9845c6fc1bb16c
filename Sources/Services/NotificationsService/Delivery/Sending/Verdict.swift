import Foundation
import MartletPush

/// The next step for a delivery, given the answer of a push service or the failure to get one.
enum Verdict: Sendable, Equatable {
    case ended(DeliveryEnd, reason: String? = nil, receipt: String? = nil)
    /// Queue it again; `counts` is whether it used up an attempt.
    case again(after: Duration, reason: String, counts: Bool)

    /// The maximum number of attempts, spread over hours while a service has problems. A delivery that was never
    /// sent does not count.
    static let maximumAttempts = 12
    /// The maximum number of attempts when they remain unanswered.
    static let maximumUnknown = 3
    static let notSentDelay: Duration = .seconds(2)
    static let quietHours = "quiet-hours"

    /// The verdict on a row that this version cannot read. During a rolling upgrade, another version may be able to.
    static func unreadable(attempt: Int) -> Verdict {
        attempt < maximumAttempts
            ? .again(after: .seconds(60), reason: "not-readable", counts: true) : .failed("not-readable")
    }

    static func failed(_ reason: String) -> Verdict { .ended(.failed, reason: reason) }

    /// - Parameters:
    ///   - attempt: The number of the attempt, from 1.
    ///   - hold: How long the lane is held back after this answer; nil if it is not.
    init(_ outcome: PushOutcome, attempt: Int, isAtMostOnce: Bool, sentAs pushID: UUID, hold: Duration?) {
        switch outcome {
        case .accepted(let receipt):
            // APNs returns the id that it was sent, which is already stored.
            let id = receipt.id.flatMap {
                $0.caseInsensitiveCompare(pushID.uuidString) == .orderedSame ? nil : String($0.prefix(500))
            }
            self = .ended(.accepted, receipt: id)
        case .failed(let failure): self = Self.verdict(failure, attempt, isAtMostOnce, hold)
        }
    }

    private static func verdict(_ failure: PushFailure, _ attempt: Int, _ isAtMostOnce: Bool, _ hold: Duration?)
        -> Verdict
    {
        let reason = failure.reason
        switch failure.meaning {
        case .deviceGone, .messageRejected: return .failed(reason)
        case .notSent:
            let isOurs = reason == "cancelled" || reason == "shut-down"
            return .again(after: isOurs ? .zero : hold ?? notSentDelay, reason: reason, counts: false)
        case .credentialBroken: return .again(after: hold ?? notSentDelay, reason: reason, counts: false)
        case .unknown:
            guard !isAtMostOnce, attempt < maximumUnknown else { return .ended(.unknown, reason: reason) }
            return .again(after: .seconds(5 * attempt), reason: reason, counts: true)
        case .backOff(let scope, let delay):
            guard attempt < maximumAttempts else { return .failed(reason) }
            return .again(
                after: (scope == .device ? delay : hold ?? delay) * Double.random(in: 1...1.2), reason: reason,
                counts: true)
        }
    }
}
