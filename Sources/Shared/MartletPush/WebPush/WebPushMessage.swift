/// A message to a browser (RFC 8030).
public struct WebPushMessage: Sendable {
    /// How important it is to wake a device (§5.3).
    public enum Urgency: String, Sendable, CaseIterable, Codable {
        case veryLow = "very-low"
        case low, normal, high
    }

    public static let maximumPayloadSizeInBytes = WebPushEncryption.maximumPlaintextSizeInBytes
    public static let maximumTopicLength = 32

    /// The data that the page's service worker receives.
    public var payload: EncodedPayload
    /// How long the push service keeps the message for an unreachable browser; zero for not at all.
    public var timeToLive: Duration
    public var urgency: Urgency?
    /// Of several waiting messages with the same topic, only the latest is kept (§5.4). Base64url characters.
    public var topic: String?

    public init(
        _ payload: EncodedPayload, timeToLive: Duration = .seconds(28 * 86_400), urgency: Urgency? = nil,
        topic: String? = nil
    ) {
        self.payload = payload
        self.timeToLive = timeToLive
        self.urgency = urgency
        self.topic = topic
    }

    /// Why the message cannot be sent; nil if nothing is known to be wrong.
    public var fault: WebPushMessageFault? {
        let size = payload.sizeInBytes
        guard size <= Self.maximumPayloadSizeInBytes else { return .payloadTooLarge(sizeInBytes: size) }
        guard let topic else { return nil }
        let isTopic = (1...Self.maximumTopicLength).contains(topic.utf8.count) && topic.utf8.allSatisfy(\.isBase64URL)
        return isTopic ? nil : .invalidTopic
    }
}

public enum WebPushMessageFault: Error, Sendable, Equatable {
    case payloadTooLarge(sizeInBytes: Int)
    case invalidTopic

    /// A short machine-readable reason, for records.
    public var reason: String {
        switch self {
        case .payloadTooLarge: "payload-too-large"
        case .invalidTopic: "invalid-topic"
        }
    }

    public var sentence: String {
        switch self {
        case .payloadTooLarge(let size):
            "The payload has \(size) bytes; the maximum is \(WebPushMessage.maximumPayloadSizeInBytes)."
        case .invalidTopic: "A topic must have 1 to \(WebPushMessage.maximumTopicLength) letters, digits, '-' and '_'."
        }
    }
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
        }
    }
}
