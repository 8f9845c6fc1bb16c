/// What part of a filter could be served by an index that is made by request.
struct IndexUse: Sendable, Hashable {
    enum Kind: String, Codable, Sendable {
        /// Served without one.
        case equality
        case ordered, prefix, text, geo
        /// Nothing serves it: each object has to be looked at.
        case none
    }

    var field: String
    var kind: Kind
}
