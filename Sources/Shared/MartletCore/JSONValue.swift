/// A JSON value that stores numbers as their original literals, so that no digit is lost.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The literal, such as `1.10`.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Members in their original order.
    case object([Member])

    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSONValue

        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }

        public static func == (one: Member, other: Member) -> Bool {
            one.name.hasSameBytes(as: other.name) && one.value == other.value
        }
    }

    /// Compares strings and names by their bytes. Canonically equivalent Unicode strings are different values.
    public static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): one.hasSameBytes(as: other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    /// - Parameters:
    ///   - levels: Number of outer levels added by us, which do not count towards the depth limit.
    ///   - allowsDuplicates: Accepts duplicate names in an object, for documents that are stored despite their errors.
    /// - Throws: `JSONError`, also if a limit in `JSONLimits` is exceeded.
    public init(
        parsing bytes: some Sequence<UInt8>, within levels: Int = 0, allowingDuplicates allowsDuplicates: Bool = false
    ) throws(JSONError) {
        func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<JSONValue, JSONError> {
            var cursor = JSONCursor(bytes, allowingDuplicates: allowsDuplicates)
            cursor.valuesLeft = JSONLimits.maximumValues(inBytes: bytes.count)
            do throws(JSONError) {
                let value = try Self.take(&cursor, depth: -levels)
                try cursor.finish()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        // Avoid copying a large text if it is already contiguous.
        let result = bytes.withContiguousStorageIfAvailable(parse) ?? Array(bytes).withUnsafeBufferPointer(parse)
        self = try result.get()
    }

    private static func take(_ cursor: inout JSONCursor, depth: Int) throws(JSONError) -> JSONValue {
        try cursor.countValue()
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

    public var kind: JSONKind {
        switch self {
        case .null: .null
        case .bool: .boolean
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// The value for use in sentences such as "Expected …, found …": a short number as written, any other value as its
    /// kind with an article. Never quotes text, which may be secret.
    public var phrase: String {
        if case .number(let literal) = self, literal.utf8.count <= 20 { return literal }
        return kind.phrase
    }

    /// The value as JSON text.
    public var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes bytes, because concatenating strings would copy them at every level.
    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let literal): bytes.append(contentsOf: literal.utf8)
        case .string(let string): Self.quote(string, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.quote(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// The beginning of a text in quotes, for error messages.
    public static func excerpt(_ text: some StringProtocol) -> String {
        // Not `Character`s, whose size has no bound.
        var beginning = String.UnicodeScalarView()
        beginning.append(contentsOf: text.unicodeScalars.prefix(40))
        return quote(String(beginning))
    }

    /// `string` as a JSON string, including quotes.
    public static func quote(_ string: String) -> String {
        var bytes: [UInt8] = []
        quote(string, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func quote(_ string: String, to bytes: inout [UInt8]) {
        var string = string
        bytes.append(UInt8(ascii: "\""))
        string.withUTF8 { text in
            // Copy runs of characters that need no escaping.
            var start = 0
            for (index, byte) in text.enumerated()
            where byte < 0x20 || byte == 0x7f || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: text[start..<index])
                start = index + 1
                bytes.append(UInt8(ascii: "\\"))
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    bytes.append(byte)
                } else {
                    bytes.append(contentsOf: "u00".utf8)
                    for digit in [byte >> 4, byte & 15] {
                        bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                    }
                }
            }
            bytes.append(contentsOf: text[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension JSONValue {
    /// A member by name, or an element by index; nil if absent.
    public subscript(name: some StringProtocol) -> JSONValue? {
        switch self {
        case .object(let members):
            let name = String(name)
            return members.first { $0.name.hasSameBytes(as: name) }?.value
        case .array(let elements): return Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        default: return nil
        }
    }
}
