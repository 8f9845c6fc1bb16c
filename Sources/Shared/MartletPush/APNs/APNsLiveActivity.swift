public import Foundation
public import MartletCore

/// What a Live Activity shows from now on
/// (https://developer.apple.com/documentation/activitykit/starting-and-updating-live-activities-with-activitykit-push-notifications).
///
/// Sent with the push type `liveActivity`.
public struct APNsLiveActivity: Sendable, Equatable {
    public enum Event: Sendable, Equatable {
        /// - Parameters:
        ///   - attributesType: the name of the app's type.
        ///   - attributes: as JSON that the app decodes into it.
        case start(attributesType: String, attributes: JSONValue)
        case update
        /// - Parameter dismissal: when it goes from the screen; nil: as the system thinks right.
        case end(dismissal: Date?)
    }

    public var event: Event
    /// When it was made: devices drop what is older than what they have.
    public var timestamp: Date
    /// As JSON that the app decodes into its content state; nil keeps the one it has when it ends.
    public var contentState: JSONValue?
    /// From when the system calls it out of date.
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
