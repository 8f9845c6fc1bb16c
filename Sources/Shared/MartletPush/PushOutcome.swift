public import Foundation

/// What became of a message to one device.
public enum PushOutcome: Sendable, Equatable {
    /// The push service has taken it. Whether it reaches the device, nobody tells.
    case accepted(PushReceipt)
    case failed(PushFailure)
}

/// By what the push service knows a message.
public struct PushReceipt: Sendable, Equatable {
    /// `apns-id`, FCM's message name, or where a Web Push message can be deleted.
    public var id: String?
    /// APNs' `apns-unique-id`, which its console finds; sandbox only.
    public var uniqueID: String?

    public init(id: String? = nil, uniqueID: String? = nil) {
        self.id = id
        self.uniqueID = uniqueID
    }
}

/// Why a message was not accepted, and what follows from it.
public struct PushFailure: Error, Sendable, Equatable {
    /// What the sender has to do. Exactly one of them holds, whichever service it was.
    public enum Meaning: Sendable, Equatable {
        /// The message was not worked on: it never left, or the service said so. Sending it again doubles nothing.
        case notSent
        /// It left, and no answer came. Whoever wants it to arrive at most once does not send it again.
        case unknown
        /// The device has gone: its token is to be forgotten, unless it was registered (again) at this time or later.
        case deviceGone(unlessRegisteredSince: Date)
        /// The message, as it is, will never be taken for this device.
        case messageRejected
        /// It was not taken now.
        case backOff(Scope, atLeast: Duration)
        /// Nothing can be sent with this credential until somebody changes it.
        case credentialBroken
    }

    /// What has to wait.
    public enum Scope: Sendable, Equatable {
        /// What is for the same device.
        case device
        /// All that is sent with the same credential.
        case credential
        /// All that is sent to the same push service.
        case service
    }

    public var meaning: Meaning
    /// The service's own word (`BadDeviceToken`, `UNREGISTERED`), or one of ours in lower case (`answer-timeout`).
    /// Holds no token.
    public var reason: String
    /// Of the service's answer; nil: there was none.
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
