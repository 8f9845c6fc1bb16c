public import MartletCore

/// The payload of a notification: the `aps` dictionary, and the app's own members
/// (https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification).
public struct APNsPayload: Sendable, Equatable {
    public enum InterruptionLevel: String, Sendable, CaseIterable, Codable {
        case passive, active, critical
        case timeSensitive = "time-sensitive"
    }

    public var alert: APNsAlert?
    /// 0 removes the badge.
    public var badge: Int?
    public var sound: APNsSound?
    public var threadID: String?
    public var category: String?
    /// Wakes the app. On its own, with the push type `background`, nothing is shown.
    public var isContentAvailable = false
    /// Lets the app's extension modify the message before it is shown.
    public var isContentMutable = false
    public var targetContentID: String?
    public var interruptionLevel: InterruptionLevel?
    /// From 0 to 1; any finite number for a Live Activity.
    public var relevanceScore: Double?
    public var filterCriteria: String?
    public var liveActivity: APNsLiveActivity?
    /// The app's own members, next to `aps`. A member named `aps` is omitted.
    public var custom: [JSONValue.Member] = []

    public init(alert: APNsAlert? = nil) {
        self.alert = alert
    }

    public var json: JSONValue { .object([.init("aps", .object(aps))] + custom.filter { $0.name != "aps" }) }

    /// The payload's JSON text, encoded ahead of sending so that its size is known.
    public func encoded() -> EncodedPayload { EncodedPayload(json) }

    private var aps: [JSONValue.Member] {
        JSONValue.member("alert", alert?.json) + JSONValue.member("badge", badge)
            + JSONValue.member("sound", sound?.json)
            + JSONValue.member("thread-id", threadID) + JSONValue.member("category", category)
            + JSONValue.flag("content-available", isContentAvailable)
            + JSONValue.flag("mutable-content", isContentMutable)
            + JSONValue.member("target-content-id", targetContentID)
            + JSONValue.member("interruption-level", interruptionLevel?.rawValue)
            + JSONValue.member("relevance-score", relevanceScore.flatMap { $0.isFinite ? $0 : nil })
            + JSONValue.member("filter-criteria", filterCriteria) + (liveActivity?.members ?? [])
    }
}
