public import Foundation

/// A notification for one device.
public struct APNsNotification: Sendable {
    /// In hexadecimal; upper case is converted to lower case.
    public var deviceToken: String
    public var pushType: APNsPushType
    /// The result of `APNsPushType.topic(bundleID:)`.
    public var topic: String
    public var priority: APNsPriority
    /// When APNs stops trying to deliver the message; nil for a single immediate attempt.
    public var expiration: Date?
    /// A device only shows the latest message with the same id. At most 64 bytes.
    public var collapseID: String?
    /// `apns-id`, which APNs returns in its answer. The same for every attempt to send the same message to the same
    /// device.
    public var id: UUID
    public var payload: EncodedPayload

    public init(
        to deviceToken: String, _ payload: EncodedPayload, pushType: APNsPushType = .alert, bundleID: String,
        priority: APNsPriority? = nil,
        expiration: Date? = nil, collapseID: String? = nil, id: UUID = UUID()
    ) {
        self.deviceToken = deviceToken
        self.payload = payload
        self.pushType = pushType
        topic = pushType.topic(bundleID: bundleID)
        self.priority = priority ?? (pushType == .background ? .considerate : .immediate)
        self.expiration = expiration
        self.collapseID = collapseID
        self.id = id
    }

    static let maximumTokenLength = 400
    static let maximumCollapseIDSizeInBytes = 64

    /// Why APNs would refuse the notification for any device; nil if nothing is known to be wrong. Sends no request.
    public var fault: APNsMessageFault? {
        let token = deviceToken.utf8
        guard !token.isEmpty, token.count.isMultiple(of: 2), token.count <= Self.maximumTokenLength,
            token.allSatisfy({ $0.isHexadecimalDigit })
        else {
            return .invalidDeviceToken
        }
        guard (1...255).contains(topic.utf8.count), topic.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            return .invalidTopic
        }
        guard pushType != .background || priority == .considerate else { return .invalidPriority }
        if let collapseID {
            guard (1...Self.maximumCollapseIDSizeInBytes).contains(collapseID.utf8.count),
                !collapseID.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
            else { return .invalidCollapseID }
        }
        let (size, limit) = (payload.sizeInBytes, pushType.maximumPayloadSizeInBytes)
        guard size > 0 else { return .payloadEmpty }
        return size > limit ? .payloadTooLarge(sizeInBytes: size, limit: limit) : nil
    }
}

/// Why a notification cannot be sent.
public enum APNsMessageFault: Error, Sendable, Equatable {
    case invalidDeviceToken
    case invalidTopic
    /// A background message must have priority 5.
    case invalidPriority
    case invalidCollapseID
    case payloadEmpty
    case payloadTooLarge(sizeInBytes: Int, limit: Int)

    /// The reason that APNs would answer with.
    public var reason: APNsReason {
        switch self {
        case .invalidDeviceToken: .badDeviceToken
        case .invalidTopic: .badTopic
        case .invalidPriority: .badPriority
        case .invalidCollapseID: .badCollapseID
        case .payloadEmpty: .payloadEmpty
        case .payloadTooLarge: .payloadTooLarge
        }
    }

    public var sentence: String {
        switch self {
        case .invalidDeviceToken:
            "A device token must have at most \(APNsNotification.maximumTokenLength) hexadecimal digits, two for each byte."
        case .invalidTopic: "A topic must have 1 to 255 printable ASCII characters."
        case .invalidPriority: "A background message must have priority 5."
        case .invalidCollapseID:
            "A collapse id must have 1 to \(APNsNotification.maximumCollapseIDSizeInBytes) bytes and no control characters."
        case .payloadEmpty: "The payload is empty."
        case .payloadTooLarge(let size, let limit): "The payload has \(size) bytes; the maximum is \(limit)."
        }
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
