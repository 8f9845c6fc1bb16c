/// Walks through the properties of an event, in the text that PostgreSQL prints for `jsonb`, and reports what is at
/// each path.
///
/// Every event is scanned, and `JSONText`, which validates what it reads, takes several times as long.
struct PropertyScanner {
    enum Found {
        /// The value as `#>>` returns it.
        case value(String)
        /// An object. Its members are reported separately.
        case object
        /// A list, or an object that is not scanned. It may have values below.
        case other
    }

    /// Maximum nesting of objects.
    static let maximumDepth = 3
    static let maximumPathInBytes = 200
    /// As in `left(…, 255)`.
    static let maximumCharacters = 255

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// - Parameter found: Receives the path's names joined by dots; `*` stands for paths that cannot be named.
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
            // Questions cannot name a member whose name is empty or contains a dot.
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

    /// Moves past the value that starts here.
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

    /// The bytes between the quotes, and whether they contain a backslash.
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

    /// PostgreSQL escapes only quotes, backslashes and control characters; the latter with four digits if they have no
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
