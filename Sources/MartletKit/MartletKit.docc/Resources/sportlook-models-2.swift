import Foundation
import MartletKit

struct Event: Storable {
    static let collection = "Events"
    enum State: String, Codable, CaseIterable { case open, closed }

    var title: String
    /// The sport.
    var category: String
    var start: Date
    var place: GeoPoint
    /// Ids of users, as in `participants`.
    var creator: String
    var participants: [String]
    var state = State.open
}

struct Message: Storable {
    static let collection = "Messages"

    var event: Pointer<Event>
    var author: String
    var text: String
}

struct Person: Storable {
    static let collection = "_User"

    var name: String?
    var place: GeoPoint?
    var sports: [String]?
}
