import MartletCore

/// A constant written into the SQL text instead of bound, quoted: for field names inside expressions that an index
/// must recognise, where a parameter would hide it from the planner.
///
/// Checked like an identifier: no NUL, no backslash, no control character, at most 2,048 bytes; quotes are doubled
/// (`standard_conforming_strings` is on by default since PostgreSQL 9.1, and the client relies on it).
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
