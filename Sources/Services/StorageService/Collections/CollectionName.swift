import MartletAPI
import MartletCore
import MartletPostgres

/// The name of a collection: a letter, then at most 62 letters, digits, `_` or `-`; ASCII, case-sensitive.
///
/// Also the name of its table. Internal tables begin with `_`, so they cannot collide with collections. `_User` is the
/// collection of users' public profiles (`UserCollection.swift`).
public struct CollectionName: Sendable, Hashable {
    /// Words that routes use in place of a collection's name.
    private static let reserved: Set<String> = ["all", "query", "remove", "aggregate", "distinct", "batch"]

    public let text: String

    static let users = CollectionName(known: "_User")

    private init(known text: String) { self.text = text }

    /// - Throws: `invalid-name`.
    public init(_ text: String) throws {
        try self.init(text, isReference: text == Self.users.text)
    }

    /// - Parameter isReference: Whether to also accept names that begin with `_`, which other systems give to their own
    ///   collections (`_User`).
    /// - Throws: `invalid-name`.
    init(_ text: String, isReference: Bool) throws {
        let isWellFormed = text.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): index > 0
            case UInt8(ascii: "_"): index > 0 || isReference
            default: false
            }
        }
        guard isWellFormed, (1...63).contains(text.utf8.count) else {
            throw ServiceError(
                .invalidName, "A collection's name must be a letter and then at most 62 letters, digits, _ or -.",
                field: "collection")
        }
        guard !Self.reserved.contains(text) else {
            throw ServiceError(.invalidName, "\"\(text)\" is a reserved word.", field: "collection")
        }
        self.text = text
    }
}
