import Foundation
import Logging
import MartletPush
import Synchronization

/// What lasts reaches the operator's log, a line each few minutes; never with a token, a message or who it was for.
extension DeliverySender {
    /// Work that failed and is done the next time.
    func warn(_ sentence: Logger.Message, _ error: any Error) {
        let time = now()
        guard let count = state.withLock({ $0.warnings.note("\(sentence)", at: time) }) else { return }
        logger.warning(sentence, metadata: ["error.cause": "\(error)", "error.count": "\(count)"])
    }

    /// A push service that does not take what is sent with a credential: not for one device, but for any.
    func warn(_ failure: PushFailure, _ device: Device) {
        switch failure.meaning {
        case .credentialBroken, .backOff(.credential, _), .backOff(.service, _), .unknown: break
        case .notSent where !["cancelled", "shut-down", "queue-full"].contains(failure.reason): break
        case .notSent, .deviceGone, .messageRejected, .backOff(.device, _): return
        }
        let time = now()
        guard let count = state.withLock({ $0.warnings.note("\(device.service.rawValue) \(device.space)", at: time) })
        else { return }
        logger.warning(
            "pushes do not get through",
            metadata: [
                "push.service": "\(device.service.rawValue)", "space.id": "\(device.space)",
                "error.cause": "\(failure.reason)", "error.count": "\(count)",
            ])
    }
}
