public import Foundation
public import MartletCore

/// A client's report of what it did not send.
public struct ClientReport: Sendable, Equatable {
    public struct Count: Sendable, Equatable {
        public var category: DataCategory
        public var reason: String
        public var quantity: Int
    }

    private static let maximumCounts = 100
    private static let maximumQuantity = 1_000_000
    /// From getsentry/develop, "Client Reports". Other reasons count as `other`, so that the number of series stays
    /// bounded.
    private static let reasons: Set<String> = [
        "queue_overflow", "cache_overflow", "buffer_overflow", "ratelimit_backoff", "network_error", "sample_rate",
        "before_send", "event_processor",
        "send_error", "internal_sdk_error", "insufficient_data", "backpressure", "invalid", "too_large", "callback",
    ]

    public let counts: [Count]

    public init(_ value: JSONValue) {
        counts = (value["discarded_events"]?.looseList ?? []).prefix(Self.maximumCounts).compactMap { entry in
            guard let quantity = entry["quantity"]?.looseNumber, quantity >= 1 else { return nil }
            let reason = entry["reason"]?.looseText ?? "other"
            return Count(
                category: DataCategory(name: entry["category"]?.looseText ?? ""),
                reason: Self.reasons.contains(reason) ? reason : "other",
                quantity: Int(min(quantity, Double(Self.maximumQuantity))))
        }
    }
}

/// A person's feedback on a crash or on the app.
public struct UserFeedback: Sendable, Equatable {
    /// The feedback's own id. A `user_report`, the older form, has none; it gets the id of the event it is about.
    public var id: UUID
    /// The event that the feedback is about.
    public var eventID: UUID?
    public var name: String
    public var email: String
    public var message: String

    /// Reads a `user_report`: `{"event_id","name","email","comments"}`. Nil without a comment or an event.
    public init?(userReport value: JSONValue, eventID fallback: UUID?) {
        guard let eventID = value["event_id"]?.looseText.flatMap(UUID.init(eventID:)) ?? fallback,
            let message = value["comments"]?.looseText, !message.isEmpty
        else { return nil }
        self.init(id: eventID, eventID: eventID, value["name"], value["email"], message)
    }

    /// Reads a `feedback`: an event with `contexts.feedback`. Nil without a message.
    public init?(feedback value: JSONValue, eventID fallback: UUID?) {
        let feedback = value["contexts"]?["feedback"]
        guard let id = value["event_id"]?.looseText.flatMap(UUID.init(eventID:)) ?? fallback,
            let message = feedback?["message"]?.looseText, !message.isEmpty
        else { return nil }
        self.init(
            id: id, eventID: feedback?["associated_event_id"]?.looseText.flatMap(UUID.init(eventID:)),
            feedback?["name"], feedback?["contact_email"], message)
    }

    private init(id: UUID, eventID: UUID?, _ name: JSONValue?, _ email: JSONValue?, _ message: String) {
        self.id = id
        self.eventID = eventID
        self.name = (name?.looseText ?? "").cut(to: 200)
        self.email = (email?.looseText ?? "").cut(to: 254)
        self.message = message.cut(to: 8_000)
    }
}
