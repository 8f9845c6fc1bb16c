/// A JSON value whose numbers are the literals that were written, so that no digit is lost.
public indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The literal, e.g. `1.10`.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// In the order written.
    case object([Member])

    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSONValue

        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// - Parameter levels: of our own, around what is limited.
    /// - Throws: `JSONError`; the limits of `JSONLimits` hold.
    public init(parsing bytes: some Sequence<UInt8>, within levels: Int = 0) throws(JSONError) {
        let result = Array(bytes).withUnsafeBufferPointer { bytes -> Result<JSONValue, JSONError> in
            var cursor = JSONCursor(bytes)
            do throws(JSONError) {
                let value = try Self.take(&cursor, depth: -levels)
                try cursor.finish()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    private static func take(_ cursor: inout JSONCursor, depth: Int) throws(JSONError) -> JSONValue {
        cursor.skipBlanks()
        switch cursor.next {
        case UInt8(ascii: "{"):
            var members: [Member] = []
            try cursor.walkObject(depth: depth) { cursor, key throws(JSONError) in
                members.append(Member(cursor.text(key), try take(&cursor, depth: depth + 1)))
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try cursor.walkArray(depth: depth) { cursor throws(JSONError) in
                elements.append(try take(&cursor, depth: depth + 1))
            }
            return .array(elements)
        case UInt8(ascii: "\""): return .string(cursor.text(try cursor.takeString()))
        case UInt8(ascii: "t"):
            try cursor.takeWord("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try cursor.takeWord("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try cursor.takeWord("null")
            return .null
        default:
            let literal = try cursor.takeNumber()
            return .number(cursor.text(literal))
        }
    }

    /// The value as JSON text.
    public var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let literal): literal
        case .string(let string): Self.quote(string)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quote($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    /// `string` as a JSON string, quotes included.
    public static func quote(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{00}"..<"\u{20}", "\u{7f}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

extension JSONValue {
    /// A member by name, or an element by number; nil where there is none.
    public subscript(name: some StringProtocol) -> JSONValue? {
        switch self {
        case .object(let members): members.first { $0.name == name }?.value
        case .array(let elements): Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        default: nil
        }
    }
}
