import MartletCore

/// The name of a field, or a dotted path, compared by its UTF-8 bytes as PostgreSQL compares it.
///
/// To Swift's `String`, U+212A (KELVIN SIGN) equals `K`, and a composed `é` equals a decomposed one. A document can
/// have both as separate fields, and rights to one are not rights to the other.
struct FieldName: Sendable, Hashable, Comparable, ExpressibleByStringLiteral {
    private let exact: ExactText

    var text: String { exact.text }

    init(_ text: String) { exact = ExactText(text) }
    init(stringLiteral text: String) { self.init(text) }

    /// The top-level field that contains a dotted path.
    init(topOf path: String) {
        self.init(
            path.utf8.firstIndex(of: UInt8(ascii: ".")).map { String(decoding: path.utf8[..<$0], as: UTF8.self) }
                ?? path)
    }

    static func < (one: FieldName, other: FieldName) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }
}
