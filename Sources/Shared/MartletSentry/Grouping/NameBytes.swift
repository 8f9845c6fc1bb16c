/// Scans names and messages byte by byte in linear time: regular expressions backtrack, and anyone can send these
/// texts.
enum NameBytes {
    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    static func isLowerHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte) }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }

    /// Replaces each `0x` and the following hexadecimal digits with a word.
    static func withoutAddresses(_ text: String, _ word: String) -> String {
        replaced(text) { bytes, start in
            guard bytes[start] == UInt8(ascii: "0"), start + 2 < bytes.count, bytes[start + 1] == UInt8(ascii: "x")
            else { return nil }
            let end = end(of: bytes, from: start + 2, while: isHexDigit)
            return end > start + 2 ? (end, word) : nil
        }
    }

    /// Replaces each run of `$` and the following digits with `$`.
    ///
    /// - Parameter afterSlash: Whether a slash after the digits is removed as well, with everything up to the next
    ///   blank.
    static func withoutCounts(_ text: String, afterSlash: Bool) -> String {
        let dollar = UInt8(ascii: "$")
        return replaced(text) { bytes, start in
            guard bytes[start] == dollar, start == 0 || bytes[start - 1] != dollar else { return nil }
            let digits = end(of: bytes, from: start) { $0 == dollar }
            var end = end(of: bytes, from: digits, while: isDigit)
            guard end > digits else { return nil }
            if afterSlash, end + 1 < bytes.count, bytes[end] == UInt8(ascii: "/"), !isBlank(bytes[end + 1]) {
                end = Self.end(of: bytes, from: end + 1) { !isBlank($0) }
            }
            return (end, "$")
        }
    }

    /// Replaces pieces of a text.
    ///
    /// - Parameter piece: Returns the end of the piece that begins at an index and its replacement, or nil if none
    ///   begins there.
    private static func replaced(_ text: String, _ piece: ([UInt8], Int) -> (end: Int, word: String)?) -> String {
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            if let found = piece(bytes, position) {
                output += found.word.utf8
                position = found.end
            } else {
                output.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The end of the run of bytes from `start` that satisfy a condition.
    static func end(of bytes: some RandomAccessCollection<UInt8>, from start: Int, while holds: (UInt8) -> Bool) -> Int
    {
        var end = start
        while end < bytes.count, holds(bytes[bytes.index(bytes.startIndex, offsetBy: end)]) { end += 1 }
        return end
    }

    /// The number of trailing bytes that satisfy a condition.
    static func count(atEndOf bytes: some BidirectionalCollection<UInt8>, while holds: (UInt8) -> Bool) -> Int {
        var count = 0
        for byte in bytes.reversed() {
            guard holds(byte) else { break }
            count += 1
        }
        return count
    }
}

/// Parses a word from its beginning; each step consumes bytes or returns false.
struct WordReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ word: Substring) {
        bytes = Array(word.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(anyOf words: String...) -> Bool {
        for word in words where take(word) { return true }
        return false
    }

    mutating func take(_ word: String) -> Bool {
        guard bytes[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
        return true
    }

    /// Consumes all following digits, if their number is in the range.
    mutating func digits(_ count: ClosedRange<Int> = 1...Int.max) -> Bool { take(count, NameBytes.isDigit) }

    mutating func hexDigits(_ count: ClosedRange<Int>) -> Bool { take(count, NameBytes.isHexDigit) }

    private mutating func take(_ count: ClosedRange<Int>, _ holds: (UInt8) -> Bool) -> Bool {
        let end = NameBytes.end(of: bytes, from: position, while: holds)
        guard count.contains(end - position) else { return false }
        position = end
        return true
    }

    /// Consumes all following hexadecimal digits, if their number is in the range and they contain both decimal digits
    /// and letters, the letters all of one case.
    mutating func mixedHexDigits(_ count: PartialRangeFrom<Int>) -> Bool {
        let end = NameBytes.end(of: bytes, from: position, while: NameBytes.isHexDigit)
        let digits = bytes[position..<end]
        let (lower, upper) = (digits.contains { $0 >= 0x61 }, digits.contains { (0x41...0x46).contains($0) })
        guard count.contains(digits.count), lower != upper, digits.contains(where: NameBytes.isDigit) else {
            return false
        }
        position = end
        return true
    }

    /// Consumes the rest, if it is not empty and contains no blank.
    mutating func restWithoutBlanks() -> Bool {
        guard position < bytes.count, !bytes[position...].contains(where: NameBytes.isBlank) else { return false }
        position = bytes.count
        return true
    }
}
