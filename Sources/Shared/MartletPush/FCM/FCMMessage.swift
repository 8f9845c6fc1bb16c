public import MartletCore

/// A message of FCM's HTTP v1 API (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages).
public struct FCMMessage: Sendable, Equatable {
    public enum Target: Sendable, Equatable {
        /// A registration token.
        case token(String)
        case topic(String)
        /// `'a' in topics && 'b' in topics`
        case condition(String)
    }

    public enum Priority: String, Sendable, CaseIterable, Codable {
        case normal = "NORMAL"
        case high = "HIGH"
    }

    /// The limit for notification and data together.
    public static let maximumPayloadSizeInBytes = 4_096

    public var target: Target
    public var title: String?
    public var body: String?
    public var imageURL: String?
    public var data: [String: String] = [:]

    public var priority: Priority?
    /// How long FCM keeps the message for an unreachable device; nil for the maximum of four weeks.
    public var timeToLive: Duration?
    public var collapseKey: String?
    public var androidNotification = FCMAndroidNotification()
    /// APNs headers for the tokens of iOS apps that use FCM; `apnsPayload` is their payload.
    public var apnsHeaders: [String: String] = [:]
    public var apnsPayload: APNsPayload?
    /// For browsers that use FCM:
    /// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages#WebpushConfig
    public var webPush: JSONValue?

    public init(to target: Target) {
        self.target = target
    }

    /// Why FCM would refuse the message; nil if nothing is known to be wrong.
    public var fault: FCMMessageFault? {
        guard !targetText.isEmpty, targetText.utf8.count <= 4_096 else { return .invalidTarget }
        if data.keys.contains("") { return .emptyName }
        if let name = data.keys.sorted().first(where: Self.isReserved) { return .reservedName(name) }
        let size = payloadSizeInBytes
        return size > Self.maximumPayloadSizeInBytes ? .payloadTooLarge(sizeInBytes: size) : nil
    }

    /// The size that FCM limits: names and values, without JSON syntax.
    public var payloadSizeInBytes: Int {
        [title, body, imageURL].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
            + data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    /// - Parameter isTest: If true, FCM checks the message but sends nothing.
    public func json(isTest: Bool = false) -> JSONValue {
        let message: [JSONValue.Member] =
            [.init(targetName, .string(targetText))] + JSONValue.member("notification", object: notification)
            + JSONValue.member("data", object: Self.members(data)) + JSONValue.member("android", object: android)
            + JSONValue.member("apns", object: apns) + JSONValue.member("webpush", webPush)
        return .object((isTest ? [.init("validate_only", .bool(true))] : []) + [.init("message", .object(message))])
    }

    private var targetName: String {
        switch target {
        case .token: "token"
        case .topic: "topic"
        case .condition: "condition"
        }
    }

    private var targetText: String {
        switch target {
        case .token(let text), .topic(let text), .condition(let text): text
        }
    }

    private var notification: [JSONValue.Member] {
        JSONValue.member("title", title) + JSONValue.member("body", body) + JSONValue.member("image", imageURL)
    }

    private var android: [JSONValue.Member] {
        JSONValue.member("collapse_key", collapseKey) + JSONValue.member("priority", priority?.rawValue)
            + JSONValue.member("ttl", timeToLive.map { "\(max(0, $0.components.seconds))s" })
            + JSONValue.member("notification", object: androidNotification.members)
    }

    private var apns: [JSONValue.Member] {
        JSONValue.member("headers", object: Self.members(apnsHeaders)) + JSONValue.member("payload", apnsPayload?.json)
    }

    private static func members(_ texts: [String: String]) -> [JSONValue.Member] {
        texts.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) }
    }

    /// Names that are reserved by FCM.
    private static func isReserved(_ name: String) -> Bool {
        ["from", "message_type", "gcm"].contains(name) || name.hasPrefix("google.") || name.hasPrefix("gcm.")
    }
}

/// The part of a notification that only Android devices use.
public struct FCMAndroidNotification: Sendable, Equatable {
    public var channelID: String?
    public var sound: String?
    public var icon: String?
    /// `#rrggbb`
    public var color: String?
    /// Only the latest message with the same tag is shown.
    public var tag: String?
    public var clickAction: String?
    public var titleKey: String?
    public var titleArguments: [String] = []
    public var bodyKey: String?
    public var bodyArguments: [String] = []
    /// The number to add to the badge.
    public var count: Int?

    public init() {}

    var members: [JSONValue.Member] {
        JSONValue.member("channel_id", channelID) + JSONValue.member("sound", sound) + JSONValue.member("icon", icon)
            + JSONValue.member("color", color) + JSONValue.member("tag", tag)
            + JSONValue.member("click_action", clickAction)
            + JSONValue.member("title_loc_key", titleKey) + JSONValue.member("title_loc_args", titleArguments)
            + JSONValue.member("body_loc_key", bodyKey) + JSONValue.member("body_loc_args", bodyArguments)
            + JSONValue.member("notification_count", count)
    }
}

/// Why a message cannot be sent.
public enum FCMMessageFault: Error, Sendable, Equatable {
    case invalidTarget
    /// FCM requires a name for every data member.
    case emptyName
    case reservedName(String)
    case payloadTooLarge(sizeInBytes: Int)

    public var sentence: String {
        switch self {
        case .invalidTarget: "A target must be a token, a topic or a condition of 1 to 4,096 bytes."
        case .emptyName: "A data member has an empty name; FCM requires 1 character or more."
        case .reservedName(let name): "The name '\(name)' of a data member is reserved by FCM."
        case .payloadTooLarge(let size):
            "Notification and data have \(size) bytes; the maximum is \(FCMMessage.maximumPayloadSizeInBytes)."
        }
    }
}
