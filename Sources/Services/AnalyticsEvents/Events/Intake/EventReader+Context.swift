import Foundation
import MartletCore

extension EventReader {
    static let maximumClockSkew: TimeInterval = 86_400

    /// The time of the event, and the earliest time at which the message could have been sent.
    func time(of fields: MessageFields) throws -> (at: Date, earliest: Date) {
        let field = fields.text("timestamp") != nil ? "timestamp" : "originalTimestamp"
        // A message without a time may have waited on the client, but not for more than a day.
        guard let text = try fields.string(field, upTo: 64) else { return (origin.received, origin.received - 86_400) }
        guard let claimed = EventTime.date(text) else {
            throw EventFault(field, "Expected an ISO 8601 time, found \(JSONValue.excerpt(text)).")
        }
        let at = claimed + lag
        guard at <= origin.received + Self.maximumClockSkew else {
            throw EventFault(field, "The time is more than a day in the future.")
        }
        guard at >= origin.received - origin.maximumAge else {
            throw EventFault(field, "The time is more than \(Int(origin.maximumAge / 86_400)) days ago.")
        }
        return (min(at, origin.received), min(at, origin.received) - slack)
    }

    /// The part of a message's context that matters for the event.
    struct Context {
        var dimensions: Dimensions
        /// Whether the person has opted out of analytics.
        var hasOptedOut = false
        /// Whether the person is counted, but must not be recognized again.
        var isUntracked: Bool
    }

    mutating func context(_ fields: MessageFields) throws -> Context {
        guard let text = fields.text("context") else {
            return Context(dimensions: origin.dimensions, isUntracked: origin.isUntracked)
        }
        if let previousContext, previousContext.text.elementsEqual(text) { return previousContext.context }
        guard let value = fields.value("context"), case .object = value else {
            throw EventFault("context", "Expected an object.")
        }
        let context = Context(
            dimensions: Dimensions(value, defaults: origin.dimensions),
            hasOptedOut: Self.hasOptedOut(in: value["consent"]?["categoryPreferences"]),
            isUntracked: origin.isUntracked || value["device"]?["adTrackingEnabled"] == .bool(false))
        previousContext = (Array(text), context)
        return context
    }

    /// Whether the person has opted out of analytics, as recorded by a consent manager.
    private static func hasOptedOut(in preferences: JSONValue?) -> Bool {
        guard case .object(let members)? = preferences else { return false }
        return members.contains { $0.name.lowercased() == "analytics" && $0.value == .bool(false) }
    }
}
