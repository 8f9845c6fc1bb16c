public import Foundation
public import MartletCore

/// An update of a Live Activity
/// (https://developer.apple.com/documentation/activitykit/starting-and-updating-live-activities-with-activitykit-push-notifications).
///
/// Sent with the push type `liveActivity`.
public struct APNsLiveActivity: Sendable, Equatable {
    public enum Event: Sendable, Equatable {
        /// - Parameters:
        ///   - attributesType: The name of the type in the app.
        ///   - attributes: JSON that the app decodes as this type.
        case start(attributesType: String, attributes: JSONValue)
        case update
        /// - Parameter dismissal: When the activity disappears from the screen; nil lets the system decide.
        case end(dismissal: Date?)
    }

    public var event: Event
    /// When the update was created. Devices ignore updates that are older than the current state.
    public var timestamp: Date
    /// JSON that the app decodes as its content state. If nil at the end, the last state stays.
    public var contentState: JSONValue?
    /// When the system starts to show the activity as outdated.
    public var staleDate: Date?

    public init(_ event: Event, contentState: JSONValue?, timestamp: Date, staleDate: Date? = nil) {
        self.event = event
        self.contentState = contentState
        self.timestamp = timestamp
        self.staleDate = staleDate
    }

    var members: [JSONValue.Member] {
        var members = JSONValue.member("timestamp", timestamp.secondsSince1970)
        switch event {
        case .start(let type, let attributes):
            members += [
                .init("event", .string("start")), .init("attributes-type", .string(type)),
                .init("attributes", attributes),
            ]
        case .update: members += [.init("event", .string("update"))]
        case .end(let dismissal):
            members +=
                [.init("event", .string("end"))] + JSONValue.member("dismissal-date", dismissal?.secondsSince1970)
        }
        return members + JSONValue.member("content-state", contentState)
            + JSONValue.member("stale-date", staleDate?.secondsSince1970)
    }
}
