/// A part of a filter, and the kind of index that could support it.
struct IndexUse: Sendable, Hashable {
    enum Kind: String, Codable, Sendable {
        /// Supported by an index that every collection has.
        case equality
        /// Supported only by an index that was created for the field.
        case ordered, prefix, text, geo
        /// No index can support it: each object must be read.
        case none
    }

    var field: String
    var kind: Kind
}
