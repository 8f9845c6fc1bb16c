public import MartletCore

/// Parses JSON as crash reporters really send it: with NaN, U+0000, lone surrogates, broken UTF-8, repeated names, and
/// numbers and depths beyond `JSONLimits`.
public enum LooseJSON {
    /// Replaces invalid values: NaN, numbers that are too long and containers that are too deep become `null`, invalid
    /// characters U+FFFD.
    ///
    /// - Throws: `JSONError` if the result is still not JSON.
    public static func value(_ bytes: some Collection<UInt8>) throws(JSONError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: bytes)
        } catch {
            var repairer = JSONRepairer(Array(String(decoding: bytes, as: UTF8.self).utf8))
            return try JSONValue(parsing: repairer.repaired(), allowingDuplicates: true)
        }
    }
}

/// Rewrites JSON text and replaces what `JSONValue` refuses.
struct JSONRepairer {
    private static let maximumDepth = JSONLimits.maximumDepth - 1
    private static let longestNumber = 40

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private var output: [UInt8] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func repaired() -> [UInt8] {
        output.reserveCapacity(bytes.count)
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""): takeString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == Self.maximumDepth { skipContainer() } else { copy(byte, depthChange: 1) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): copy(byte, depthChange: -1)
            case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "N"),
                UInt8(ascii: "I"):
                takeWord()
            default: copy(byte)
            }
        }
        return output
    }

    private mutating func copy(_ byte: UInt8, depthChange: Int = 0) {
        depth += depthChange
        output.append(byte)
        position += 1
    }

    private mutating func takeWord() {
        let start = position
        while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
        let word = bytes[start..<position]
        let isNumber = word.count <= Self.longestNumber && (try? JSONValue(parsing: word)) != nil
        output += isNumber ? Array(word) : Array("null".utf8)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private mutating func skipContainer() {
        var inside = 0
        repeat {
            switch bytes[position] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["): inside += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): inside -= 1
            default: break
            }
            position += 1
        } while inside > 0 && position < bytes.count
        output += Array("null".utf8)
    }

    /// Moves to the closing quotation mark.
    private mutating func skipString() {
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
    }

    private mutating func takeString() {
        copy(UInt8(ascii: "\""))
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""): return copy(byte)
            case UInt8(ascii: "\\"): takeEscape()
            case 0..<0x20:
                output +=
                    byte == 0 ? Self.replacement : Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
                position += 1
            default: copy(byte)
            }
        }
    }

    private static let replacement = Array("\\ufffd".utf8)

    private mutating func takeEscape() {
        guard position + 1 < bytes.count else { return position = bytes.count }
        switch bytes[position + 1] {
        case UInt8(ascii: "u"): takeUnits()
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            output += bytes[position..<position + 2]
            position += 2
        default:
            output += Array("\\\\".utf8)
            position += 1
        }
    }

    private mutating func takeUnits() {
        guard let first = unit(at: position) else {
            output += Self.replacement
            position += 2
            return
        }
        switch first {
        case 0, 0xdc00...0xdfff:
            output += Self.replacement
            position += 6
        case 0xd800...0xdbff:
            guard let second = unit(at: position + 6), (0xdc00...0xdfff).contains(second) else {
                output += Self.replacement
                position += 6
                return
            }
            output += bytes[position..<position + 12]
            position += 12
        default:
            output += bytes[position..<position + 6]
            position += 6
        }
    }

    /// The code unit of the escape `\uXXXX` at `index`.
    private func unit(at index: Int) -> UInt32? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        let digits = bytes[index + 2..<index + 6]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
