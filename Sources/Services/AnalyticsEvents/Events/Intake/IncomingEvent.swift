import AnalyticsShared
import Foundation

/// A valid event whose texts have no term numbers yet.
struct IncomingEvent: Sendable, Equatable {
    /// The person under whom an event is stored, and the account and device that the event names. If the account or the
    /// device has opted out, the event is not stored.
    struct Subject: Sendable, Hashable {
        var person = Person.nobody
        /// `Person.nobody` if the event names no account.
        var account = Person.nobody
        /// `Person.nobody` if the event names no device.
        var device = Person.nobody
    }

    var kind: EventKind
    var name: String?
    /// When the event happened, by the server's clock; never later than its receipt.
    var at: Date
    /// The earliest time at which the event can have been sent.
    var earliest: Date
    var key: Int64
    var subject: Subject
    var dimensions: Dimensions
    /// A JSON object as text.
    var properties = "{}"
    /// A JSON object as text, for `identify`.
    var traits: String?
    /// Persons who are the same as `subject.account`.
    var aliases: [Int64] = []

    /// Approximate size, for the limits of the queue.
    var sizeInBytes: Int { 200 + properties.utf8.count + (traits?.utf8.count ?? 0) }
}

/// Why a message was rejected: the reason, and the field at fault.
struct EventFault: Error, Equatable {
    var field: String?
    var reason: String

    init(_ field: String?, _ reason: String) {
        self.field = field
        self.reason = reason
    }
}
