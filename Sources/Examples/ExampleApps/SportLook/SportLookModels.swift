import Foundation
import MartletKit

/// A match or a run that people join.
struct Event: Storable {
    static let collection = "Events"
    enum State: String, Codable, CaseIterable { case open, closed }

    var title: String
    var details: String?
    /// The sport.
    var category: String
    var picture: FileReference?
    var start: Date
    var end: Date?
    var address: String?
    var place: GeoPoint
    /// Ids of users, as in `participants`.
    var creator: String
    var participants: [String]
    var state = State.open
}

/// A line of an event's chat.
struct Message: Storable {
    static let collection = "Messages"

    var event: Pointer<Event>
    var author: String
    var text: String
}

/// From one user to another.
struct Invitation: Storable {
    static let collection = "Invitations"
    enum State: String, Codable, CaseIterable { case sent, accepted, declined }

    var event: Pointer<Event>
    var from: String
    var to: String
    var state = State.sent
}

/// What everybody may see of a user. The server keeps the users' profiles in the collection `_User`.
struct Person: Storable {
    static let collection = "_User"

    var name: String?
    var picture: FileReference?
    var address: String?
    var place: GeoPoint?
    var sports: [String]?
    var score: Int?
}
