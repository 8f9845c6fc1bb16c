import Foundation

/// An event that was found good, with its texts not yet numbered.
struct IncomingEvent: Sendable, Equatable {
    /// Whose it is, and by which ids they may be known.
    struct Subject: Sendable, Hashable {
        var person = Person.nobody
        /// Of the account and the device that it names; `nobody` where it names none. What either is opted out of is
        /// not stored.
        var account = Person.nobody
        var device = Person.nobody
    }

    var kind: EventKind
    var name: String?
    /// When it happened, by our clock; not after it came.
    var at: Date
    /// It cannot have come before.
    var earliest: Date
    var key: Int64
    var subject: Subject
    var dimensions: Dimensions
    /// The text of a JSON object.
    var properties = "{}"
    /// The text of a JSON object, of `identify`.
    var traits: String?
    /// The persons who turn out to be `subject.account`.
    var aliases: [Int64] = []

    /// For the bounds of the queue.
    var sizeInBytes: Int { 200 + properties.utf8.count + (traits?.utf8.count ?? 0) }
}

/// Why a message is not taken: what is wrong with it, and in which field.
struct EventFault: Error, Equatable {
    var field: String?
    var reason: String

    init(_ field: String?, _ reason: String) {
        self.field = field
        self.reason = reason
    }
}
