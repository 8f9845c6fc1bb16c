public import Foundation

/// The outcome of sending a message to one device.
public enum PushOutcome: Sendable, Equatable {
    /// The push service accepted the message. Whether it reaches the device is not reported.
    case accepted(PushReceipt)
    case failed(PushFailure)
}

/// How the push service identifies a message.
public struct PushReceipt: Sendable, Equatable {
    /// `apns-id`, FCM's message name, or the URL at which a Web Push message can be deleted.
    public var id: String?
    /// APNs' `apns-unique-id`, for a search in Apple's console; sandbox only.
    public var uniqueID: String?

    public init(id: String? = nil, uniqueID: String? = nil) {
        self.id = id
        self.uniqueID = uniqueID
    }
}

/// Why a message was not accepted, and what the sender has to do.
public struct PushFailure: Error, Sendable, Equatable {
    /// What the sender has to do. Exactly one case applies, for every push service.
    public enum Meaning: Sendable, Equatable {
        /// The message was not processed: it was never sent, or the service said so. Sending it again is safe.
        case notSent
        /// The message was sent but no answer arrived. Do not send it again if it must arrive at most once.
        case unknown
        /// The device is gone. Forget its token, unless it was registered (again) at this time or later.
        case deviceGone(unlessRegisteredSince: Date)
        /// The message in its present form will never be accepted for this device.
        case messageRejected
        /// The message was not accepted now; try again after the delay.
        case backOff(Scope, atLeast: Duration)
        /// Nothing can be sent with this credential until it is changed.
        case credentialBroken
    }

    /// The messages to which a delay applies.
    public enum Scope: Sendable, Equatable {
        /// Messages to the same device.
        case device
        /// All messages sent with the same credential.
        case credential
        /// All messages to the same push service.
        case service
    }

    public var meaning: Meaning
    /// The service's reason (`BadDeviceToken`, `UNREGISTERED`), or one of Martlet's in lower case (`answer-timeout`).
    /// Contains no token.
    public var reason: String
    /// The status of the service's answer; nil if there was none.
    public var status: Int?

    public init(_ meaning: Meaning, reason: String, status: Int? = nil) {
        self.meaning = meaning
        self.reason = reason
        self.status = status
    }
}

extension PushOutcome {
    static func failed(_ meaning: PushFailure.Meaning, reason: String, status: Int? = nil) -> PushOutcome {
        .failed(PushFailure(meaning, reason: reason, status: status))
    }
}
