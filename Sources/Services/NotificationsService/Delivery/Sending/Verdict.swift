import Foundation
import MartletPush

/// What is to become of a delivery, now that a push service has answered or none could be asked.
enum Verdict: Sendable, Equatable {
    case ended(DeliveryEnd, reason: String? = nil, receipt: String? = nil)
    /// It is queued again; `counts`: it was one of its attempts.
    case again(after: Duration, reason: String, counts: Bool)

    /// Further ones are not made. Behind a service that has trouble they are spread over hours; what never left does
    /// not count.
    static let maximumAttempts = 12
    /// Of those that left without an answer.
    static let maximumUnknown = 3
    static let notSentDelay: Duration = .seconds(2)
    static let quietHours = "quiet-hours"

    /// Of a row that this version does not understand: perhaps another one does, while they are being exchanged.
    static func unreadable(attempt: Int) -> Verdict {
        attempt < maximumAttempts
            ? .again(after: .seconds(60), reason: "not-readable", counts: true) : .failed("not-readable")
    }

    static func failed(_ reason: String) -> Verdict { .ended(.failed, reason: reason) }

    /// - Parameters:
    ///   - attempt: which it was, from 1.
    ///   - hold: how long what it was sent with is held back after this answer; nil: it is not.
    init(_ outcome: PushOutcome, attempt: Int, isAtMostOnce: Bool, sentAs pushID: UUID, hold: Duration?) {
        switch outcome {
        case .accepted(let receipt):
            // APNs answers the id that it was sent, which is written down already.
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
