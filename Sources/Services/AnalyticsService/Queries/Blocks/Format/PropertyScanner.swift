/// Walks through the properties of an event, in the text that PostgreSQL writes of `jsonb`, and says what is at each
/// path.
///
/// Every event comes through here: with `JSONText`, which checks what it reads, it takes several times as long.
struct PropertyScanner {
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

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// - Parameter found: the path's names with points between them; `*`: one that is not walked through.
    static func scan(_ bytes: UnsafeRawBufferPointer, found: (String, Found) -> Void) {
        var scanner = PropertyScanner(bytes: bytes)
        scanner.object(below: "", depth: 1, found)
    }

    private init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    private var byte: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

    private mutating func skipSpaces() {
        while byte == 0x20 { offset += 1 }
    }

    private mutating func object(below path: String, depth: Int, _ found: (String, Found) -> Void) {
        offset += 1
        while offset < bytes.count {
            skipSpaces()
            guard byte == UInt8(ascii: "\"") else { break }
            let name = string()
            skipSpaces()
            offset += 1
            skipSpaces()
            let inner = path.isEmpty ? name : path + "." + name
            // No question can name what has a point in it or no name.
            if name.isEmpty || name.utf8.contains(UInt8(ascii: ".")) {
                skipValue()
            } else if name.utf8.contains(UInt8(ascii: "*")) || inner.utf8.count > Self.maximumPathInBytes {
                skipValue()
                found("*", .other)
            } else {
                value(at: inner, depth: depth, found)
            }
            skipSpaces()
            guard byte == UInt8(ascii: ",") else { break }
            offset += 1
        }
        offset += 1
    }

    private mutating func value(at path: String, depth: Int, _ found: (String, Found) -> Void) {
        switch byte {
        case UInt8(ascii: "\""):
            let text = string()
            let isShort = text.utf8.count <= Self.maximumCharacters
            found(
                path,
                .value(
                    isShort
                        ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumCharacters)))))
        case UInt8(ascii: "{") where depth < Self.maximumDepth:
            found(path, .object)
            object(below: path, depth: depth + 1, found)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            skipValue()
            found(path, .other)
        case UInt8(ascii: "n"): skipValue()
        default:
            let start = offset
            skipValue()
            found(path, .value(String(decoding: bytes[start..<offset].prefix(Self.maximumCharacters), as: UTF8.self)))
        }
    }

    /// Behind the value that begins here.
    private mutating func skipValue() {
        var depth = 0
        while offset < bytes.count {
            switch byte {
            case UInt8(ascii: "\""):
                _ = rawString()
                if depth == 0 { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
                if depth == 0 {
                    offset += 1
                    return
                }
            case UInt8(ascii: ","): if depth == 0 { return }
            default: break
            }
            offset += 1
        }
    }

    /// The bytes between the quotes, and whether there is a backslash among them.
    private mutating func rawString() -> (range: Range<Int>, isEscaped: Bool) {
        offset += 1
        let start = offset
        var isEscaped = false
        while offset < bytes.count, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                offset += 1
            }
            offset += 1
        }
        let end = min(offset, bytes.count)
        offset = end + 1
        return (min(start, end)..<end, isEscaped)
    }

    private mutating func string() -> String {
        let (range, isEscaped) = rawString()
        let raw = bytes[range]
        return isEscaped ? Self.unescaped(Array(raw)) : String(decoding: raw, as: UTF8.self)
    }

    /// PostgreSQL escapes quotes, backslashes and control characters only, these with four digits where they have no
    /// letter.
    private static func unescaped(_ raw: [UInt8]) -> String {
        let letters: [UInt8: UInt8] = [
            UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D,
            UInt8(ascii: "t"): 0x09,
        ]
        var text: [UInt8] = []
        var index = 0
        while index < raw.count {
            guard raw[index] == UInt8(ascii: "\\"), index + 1 < raw.count else {
                text.append(raw[index])
                index += 1
                continue
            }
            let letter = raw[index + 1]
            if letter == UInt8(ascii: "u"), index + 5 < raw.count,
                let code = UInt32(String(decoding: raw[(index + 2)...(index + 5)], as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(code)
            {
                text.append(contentsOf: Array(String(Character(scalar)).utf8))
                index += 6
            } else {
                text.append(letters[letter] ?? letter)
                index += 2
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
