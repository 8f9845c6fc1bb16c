public import MartletCore

/// What a message to an Apple device says: the `aps` dictionary, and what the app has beside it
/// (https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification).
public struct APNsPayload: Sendable, Equatable {
    public enum InterruptionLevel: String, Sendable, CaseIterable, Codable {
        case passive, active, critical
        case timeSensitive = "time-sensitive"
    }

    public var alert: APNsAlert?
    /// 0 takes the badge away.
    public var badge: Int?
    public var sound: APNsSound?
    public var threadID: String?
    public var category: String?
    /// Wakes the app; alone, with the push type `background`, nothing is shown.
    public var isContentAvailable = false
    /// Lets the app's extension change the message before it is shown.
    public var isContentMutable = false
    public var targetContentID: String?
    public var interruptionLevel: InterruptionLevel?
    /// From 0 to 1; any finite number in a live activity.
    public var relevanceScore: Double?
    public var filterCriteria: String?
    public var liveActivity: APNsLiveActivity?
    /// The app's own members, beside `aps`. One that is called `aps` is left out: that is not the app's.
    public var custom: [JSONValue.Member] = []

    public init(alert: APNsAlert? = nil) {
        self.alert = alert
    }

    public var json: JSONValue { .object([.init("aps", .object(aps))] + custom.filter { $0.name != "aps" }) }

    /// The payload as it is sent; its size is known before it is.
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
