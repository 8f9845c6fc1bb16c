import MartletCore

/// Walks through the properties of an event, in the text that PostgreSQL writes of `jsonb`, and says what is at each path.
enum PropertyScanner {
    enum Found {
        /// As `#>>` has it.
        case value(String)
        /// An object, whose members come by themselves.
        case object
        /// A list, or what is not walked through: it may have values below.
        case other
    }

    /// Levels of objects in one another.
    static let maximumDepth = 3
    static let maximumPathInBytes = 200
    /// As `left(…, 255)` has it.
    static let maximumCharacters = 255

    /// - Parameter found: the path's names with points between them; `*`: one that is not walked through.
    static func scan(_ bytes: UnsafeRawBufferPointer, found: (String, Found) -> Void) throws(JSONError) {
        try scan(bytes.bindMemory(to: UInt8.self), below: "", depth: 1, found)
    }

    private static func scan(_ bytes: UnsafeBufferPointer<UInt8>, below path: String, depth: Int, _ found: (String, Found) -> Void) throws(JSONError) {
        // No question can name what has a point in it or no name.
        for member in try JSONText.members(of: bytes) where !member.name.isEmpty && !member.name.holds(".") {
            let inner = path.isEmpty ? member.name : path + "." + member.name
            guard !member.name.holds("*"), inner.utf8.count <= maximumPathInBytes else {
                found("*", .other)
                continue
            }
            let value = UnsafeBufferPointer(rebasing: bytes[member.value])
            switch value.first {
            case UInt8(ascii: "{") where depth < maximumDepth:
                found(inner, .object)
                try scan(value, below: inner, depth: depth + 1, found)
            case UInt8(ascii: "{"), UInt8(ascii: "["): found(inner, .other)
            case UInt8(ascii: "n"): break
            default: found(inner, .value(try text(value)))
            }
        }
    }

    /// Of a string, a number or a flag.
    private static func text(_ value: UnsafeBufferPointer<UInt8>) throws(JSONError) -> String {
        let text: String
        if value.first != UInt8(ascii: "\"") {
            text = String(decoding: value, as: UTF8.self)
        } else if value.contains(UInt8(ascii: "\\")), case .string(let string) = try JSONValue(parsing: value) {
            text = string
        } else {
            text = String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
        }
        guard text.utf8.count > maximumCharacters else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumCharacters)))
    }
}
