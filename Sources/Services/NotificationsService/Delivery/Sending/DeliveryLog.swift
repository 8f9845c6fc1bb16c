import Foundation
import Logging
import MartletPush
import Synchronization

/// Logs persistent problems for the operator, at most one line every few minutes per kind. Never logs tokens, messages
/// or recipients.
final class DeliveryLog: Sendable {
    let logger: Logger
    private let now: @Sendable () -> Date
    private let warnings = Mutex(WarningLimiter())

    init(_ logger: Logger, now: @escaping @Sendable () -> Date) {
        self.logger = logger
        self.now = now
    }

    /// Logs failed work that is retried.
    func warn(_ sentence: Logger.Message, _ error: any Error) {
        guard let count = record("\(sentence)") else { return }
        logger.warning(sentence, metadata: ["error.cause": "\(error)", "error.count": "\(count)"])
    }

    /// Logs that a push service rejects everything sent with a credential, not only the message to one device.
    func warn(_ failure: PushFailure, _ device: Device) {
        switch failure.meaning {
        case .credentialBroken, .backOff(.credential, _), .backOff(.service, _), .unknown: break
        case .notSent where !["cancelled", "shut-down", "queue-full"].contains(failure.reason): break
        case .notSent, .deviceGone, .messageRejected, .backOff(.device, _): return
        }
        guard let count = record("\(device.service.rawValue) \(device.space)") else { return }
        logger.warning(
            "A push service accepts no messages; retrying.",
            metadata: [
                "push.service": "\(device.service.rawValue)", "space.id": "\(device.space)",
                "error.cause": "\(failure.reason)", "error.count": "\(count)",
            ])
    }

    private func record(_ kind: String) -> Int? {
        let time = now()
        return warnings.withLock { $0.record(kind, at: time) }
    }
}
