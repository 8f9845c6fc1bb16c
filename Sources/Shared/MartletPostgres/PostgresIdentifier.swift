import MartletCore

/// The name of a role, schema, table, column or channel, optionally qualified by a schema.
///
/// The only way to insert a dynamic name into SQL. `quoted` is `"name"` or `"schema"."name"` with every inner double
/// quote doubled, so that no content can escape the quotes.
public struct PostgresIdentifier: Hashable, Sendable {
    /// The text to insert into SQL.
    public let quoted: String

    /// `nil` unless `name` is 1 to 63 bytes of UTF-8 without NUL. (PostgreSQL would silently truncate longer names.)
    public init?(_ name: String) {
        guard let quoted = Self.quote(name) else { return nil }
        self.quoted = quoted
    }

    /// `nil` unless both parts are valid.
    public init?(schema: String, name: String) {
        guard let schema = Self.quote(schema), let name = Self.quote(name) else { return nil }
        self.quoted = schema + "." + name
    }

    private static func quote(_ name: String) -> String? {
        guard (1...63).contains(name.utf8.count), !name.utf8.contains(0) else { return nil }
        return name.holds("\"") ? name.enclosed(in: "\"") : "\"" + name + "\""
    }
}

extension PostgresIdentifier: CustomStringConvertible {
    public var description: String { quoted }
}
