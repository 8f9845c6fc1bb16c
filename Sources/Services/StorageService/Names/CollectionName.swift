import MartletAPI
import MartletHTTP
import MartletPostgres

/// Name of a collection: a letter, then at most 62 letters, digits, `_` or `-`; ASCII, case kept.
///
/// It is the table's name too. Tables of our own begin with `_`, so no collection can meet them.
public struct CollectionName: Sendable, Hashable {
    /// Words that stand where a collection's name does in the routes.
    private static let reserved: Set<String> = ["all", "query", "remove", "aggregate", "distinct", "batch"]

    public let text: String

    /// - Throws: `invalid-name`.
    public init(_ text: String) throws {
        try self.init(text, isReference: false)
    }

    /// - Parameter isReference: also names with `_` in front, which other systems give to collections of their own
    ///   (`_User`).
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
            throw HTTPProblem(
                .invalidName, "A collection's name is a letter and then at most 62 letters, digits, _ or -.",
                field: "collection")
        }
        guard !Self.reserved.contains(text) else {
            throw HTTPProblem(.invalidName, "\"\(text)\" is a reserved word.", field: "collection")
        }
        self.text = text
    }
}
