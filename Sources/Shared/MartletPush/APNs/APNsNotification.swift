public import Foundation

/// A message to one device.
public struct APNsNotification: Sendable {
    /// In hexadecimal; upper case is sent as lower.
    public var deviceToken: String
    public var pushType: APNsPushType
    /// As `APNsPushType.topic(bundleID:)` makes it.
    public var topic: String
    public var priority: APNsPriority
    /// Until when APNs tries; nil: once, at once.
    public var expiration: Date?
    /// Of messages with the same one, a device shows the latest. 64 bytes at most.
    public var collapseID: String?
    /// `apns-id`, which APNs answers and reports with. The same for each attempt to send the same message to the same
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

    /// Why APNs would refuse it whatever the device; nil: nothing is known against it. Costs no request.
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

/// Why a message cannot be sent.
public enum APNsMessageFault: Error, Sendable, Equatable {
    case invalidDeviceToken
    case invalidTopic
    /// A background message has priority 5.
    case invalidPriority
    case invalidCollapseID
    case payloadEmpty
    case payloadTooLarge(sizeInBytes: Int, limit: Int)

    /// The word that APNs would have answered with.
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
            "A device token has hexadecimal digits, two for each byte, \(APNsNotification.maximumTokenLength) at most."
        case .invalidTopic: "A topic has 1 to 255 printable ASCII characters."
        case .invalidPriority: "A background message has priority 5."
        case .invalidCollapseID:
            "A collapse id has 1 to \(APNsNotification.maximumCollapseIDSizeInBytes) bytes and no control characters."
        case .payloadEmpty: "The payload is empty."
        case .payloadTooLarge(let size, let limit): "The payload has \(size) bytes, \(limit) are the most."
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
