import Foundation
import MartletCore

extension EventReader {
    static let farthestAhead: TimeInterval = 86_400

    /// When it happened, and before when it cannot have come.
    func time(of fields: MessageFields) throws -> (at: Date, earliest: Date) {
        let field = fields.text("timestamp") != nil ? "timestamp" : "originalTimestamp"
        // One that says no time may have been sent before, but it is not waiting long.
        guard let text = try fields.string(field, upTo: 64) else { return (origin.received, origin.received - 86_400) }
        guard let claimed = EventTime.date(text) else { throw EventFault(field, "This must be a time as in ISO 8601.") }
        let at = claimed + lag
        guard at <= origin.received + Self.farthestAhead else {
            throw EventFault(field, "This lies more than a day ahead.")
        }
        guard at >= origin.received - origin.maximumAge else {
            throw EventFault(field, "This is more than \(Int(origin.maximumAge / 86_400)) days ago.")
        }
        return (min(at, origin.received), min(at, origin.received) - slack)
    }

    /// What a message's context says.
    struct Context {
        var dimensions: Dimensions
        /// The person does not want to be counted.
        var isRefused = false
        /// The person is counted, and does not want to be known again.
        var isUntracked: Bool
    }

    mutating func context(_ fields: MessageFields) throws -> Context {
        guard let text = fields.text("context") else {
            return Context(dimensions: origin.dimensions, isUntracked: origin.isUntracked)
        }
        if let known, known.text.elementsEqual(text) { return known.context }
        guard let value = fields.value("context"), case .object = value else {
            throw EventFault("context", "This must be an object.")
        }
        let context = Context(
            dimensions: Dimensions(value, defaults: origin.dimensions),
            isRefused: Self.isRefused(by: value["consent"]?["categoryPreferences"]),
            isUntracked: origin.isUntracked || value["device"]?["adTrackingEnabled"] == .bool(false))
        known = (Array(text), context)
        return context
    }

    /// Whether the person does not want this kind of use, as a consent manager asked them.
    private static func isRefused(by preferences: JSONValue?) -> Bool {
        guard case .object(let members)? = preferences else { return false }
        return members.contains { $0.name.lowercased() == "analytics" && $0.value == .bool(false) }
    }
}
