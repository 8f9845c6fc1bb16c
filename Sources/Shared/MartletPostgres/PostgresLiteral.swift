import MartletCore

/// A quoted constant in the SQL text instead of a bound parameter. For field names in expressions that must match an
/// index, where a parameter would hide them from the planner.
///
/// Must not contain NUL, backslash or control characters, and have at most 2,048 bytes. Quotes are doubled. This relies
/// on `standard_conforming_strings`, which is on by default since PostgreSQL 9.1.
public struct PostgresLiteral: Hashable, Sendable {
    let quoted: String

    public init?(_ text: String) {
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "\\") }
        guard isPlain, text.utf8.count <= 2_048 else { return nil }
        quoted = text.enclosed(in: "'")
    }
}

extension PostgresQuery.StringInterpolation {
    /// Inserts the quoted constant.
    public mutating func appendInterpolation(_ literal: PostgresLiteral) {
        query.text += literal.quoted
    }
}
