import Foundation

/// Parses JSON (RFC 8259) in UTF-8, at most 64 levels deep.
struct JSONReader {
    private static let maximumDepth = 64

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    static func read(_ data: Data) throws -> JSON {
        let bytes = [UInt8](data)
        return try bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(bytes: buffer)
            reader.skipBlanks()
            let value = try reader.value(depth: 0)
            reader.skipBlanks()
            guard reader.position == buffer.count else { throw reader.failure("Expected the end") }
            return value
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func failure(_ message: String) -> MartletError {
        MartletError(.invalidJSON, "\(message) at byte \(position).")
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = next, UInt32(byte) == character.value else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws -> JSON {
        guard depth <= Self.maximumDepth else { throw failure("More than \(Self.maximumDepth) levels") }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func word(_ text: StaticString, _ value: JSON) throws -> JSON {
        for offset in 0..<text.utf8CodeUnitCount {
            guard next == text.utf8Start[offset] else { throw failure("Expected \(text)") }
            position += 1
        }
        return value
    }

    private mutating func object(depth: Int) throws -> JSON {
        position += 1
        skipBlanks()
        var members: [String: JSON] = [:]
        if take("}") { return .object(members) }
        while true {
            guard next == UInt8(ascii: "\"") else { throw failure("Expected a name") }
            let name = try string()
            skipBlanks()
            guard take(":") else { throw failure("Expected a colon") }
            skipBlanks()
            members[name] = try value(depth: depth + 1)
            skipBlanks()
            if take("}") { return .object(members) }
            guard take(",") else { throw failure("Expected a comma or }") }
            skipBlanks()
        }
    }

    private mutating func array(depth: Int) throws -> JSON {
        position += 1
        skipBlanks()
        var elements: [JSON] = []
        if take("]") { return .array(elements) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipBlanks()
            if take("]") { return .array(elements) }
            guard take(",") else { throw failure("Expected a comma or ]") }
            skipBlanks()
        }
    }

    private mutating func number() throws -> JSONNumber {
        let start = position
        _ = take("-")
        let leading = position
        guard skipDigits() > 0, position == leading + 1 || bytes[leading] != UInt8(ascii: "0") else {
            throw failure("Expected a value")
        }
        if take(".") { guard skipDigits() > 0 else { throw failure("Expected a digit") } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard skipDigits() > 0 else { throw failure("Expected a digit") }
        }
        return JSONNumber(unchecked: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte = next, (48...57).contains(byte) { position += 1 }
        return position - start
    }

    /// Most strings have no escapes and are copied in one piece.
    private mutating func string() throws -> String {
        position += 1
        let start = position
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        if take("\"") { return String(decoding: bytes[start..<position - 1], as: UTF8.self) }
        var text = Array(bytes[start..<position])
        while let byte = next, byte >= 0x20 {
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") { try escape(into: &text) } else { text.append(byte) }
        }
        throw failure("A string does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws {
        guard let byte = next else { throw failure("A string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(try escapedScalar()).utf8
        default: throw failure("Unknown escape")
        }
    }

    private mutating func escapedScalar() throws -> Character {
        let first = try codeUnit()
        guard UTF16.isLeadSurrogate(first) else {
            guard let scalar = Unicode.Scalar(first) else { throw failure("Half of a surrogate pair") }
            return Character(scalar)
        }
        guard take("\\"), take("u") else { throw failure("Half of a surrogate pair") }
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw failure("Half of a surrogate pair") }
        return Character(UTF16.decode(UTF16.EncodedScalar([first, second])))
    }

    private mutating func codeUnit() throws -> UInt16 {
        let digits = bytes[position..<min(position + 4, bytes.count)]
        // The initializer would accept a sign.
        guard digits.count == 4, digits.first.map({ $0 != 0x2B && $0 != 0x2D }) == true,
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw failure("Expected four hexadecimal digits") }
        position += 4
        return unit
    }
}
