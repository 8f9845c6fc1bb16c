/// The UTF-8 text of a JSON document, bound as `jsonb`. PostgreSQL rejects invalid JSON (22P02).
public struct PostgresJSON: Sendable, PostgresEncodable {
    public static var postgresType: PostgresType { .jsonb }

    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init(_ text: String) { self.bytes = Array(text.utf8) }

    /// The binary format of `jsonb` is a version number followed by the text.
    public func encode(into bytes: inout [UInt8]) {
        bytes.append(Self.version)
        bytes.append(contentsOf: self.bytes)
    }

    static let version: UInt8 = 1
}

extension PostgresJSON: PostgresDecodable {
    public init(_ cell: PostgresCell) throws {
        guard [.json, .jsonb, .text].contains(cell.type) else { throw cell.mismatch(Self.self) }
        self.init(Array(try cell.value(Self.self)))
    }
}
