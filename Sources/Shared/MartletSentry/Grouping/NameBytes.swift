/// What names and messages are read by: bytes, each looked at a fixed number of times. Regular expressions backtrack, and what is read here is anybody's.
enum NameBytes {
    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte) }

    static func isLowerHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte) }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }

    /// `0x` with the hexadecimal digits behind it becomes a word.
    static func withoutAddresses(_ text: String, _ word: String) -> String {
        replaced(text) { bytes, start in
            guard bytes[start] == UInt8(ascii: "0"), start + 2 < bytes.count, bytes[start + 1] == UInt8(ascii: "x") else { return nil }
            let end = end(of: bytes, from: start + 2, while: isHexDigit)
            return end > start + 2 ? (end, word) : nil
        }
    }

    /// `$` and the digits behind it become `$`.
    ///
    /// - Parameter behindSlash: what follows the digits behind a slash goes, too, up to a blank.
    static func withoutCounts(_ text: String, behindSlash: Bool) -> String {
        let dollar = UInt8(ascii: "$")
        return replaced(text) { bytes, start in
            guard bytes[start] == dollar, start == 0 || bytes[start - 1] != dollar else { return nil }
            let digits = end(of: bytes, from: start) { $0 == dollar }
            var end = end(of: bytes, from: digits, while: isDigit)
            guard end > digits else { return nil }
            if behindSlash, end + 1 < bytes.count, bytes[end] == UInt8(ascii: "/"), !isBlank(bytes[end + 1]) {
                end = Self.end(of: bytes, from: end + 1) { !isBlank($0) }
            }
            return (end, "$")
        }
    }

    /// A text with pieces of it replaced.
    ///
    /// - Parameter piece: where a piece ends that begins here, and what takes its place; nil: none does. Only what it looks at and returns may be looked at
    ///   again.
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

    /// Behind the bytes from a place on for which something holds.
    static func end(of bytes: some RandomAccessCollection<UInt8>, from start: Int, while holds: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, holds(bytes[bytes.index(bytes.startIndex, offsetBy: end)]) { end += 1 }
        return end
    }

    /// Of how many bytes that something holds for the text ends.
    static func count(atEndOf bytes: some BidirectionalCollection<UInt8>, while holds: (UInt8) -> Bool) -> Int {
        var count = 0
        for byte in bytes.reversed() {
            guard holds(byte) else { break }
            count += 1
        }
        return count
    }
}

/// Reads a word from its beginning; every step takes bytes or says false.
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

    /// As many as there are, when that is as many as there may be.
    mutating func digits(_ count: ClosedRange<Int> = 1...Int.max) -> Bool { take(count, NameBytes.isDigit) }

    mutating func hexDigits(_ count: ClosedRange<Int>) -> Bool { take(count, NameBytes.isHexDigit) }

    private mutating func take(_ count: ClosedRange<Int>, _ holds: (UInt8) -> Bool) -> Bool {
        let end = NameBytes.end(of: bytes, from: position, while: holds)
        guard count.contains(end - position) else { return false }
        position = end
        return true
    }

    /// As many as there are, when there are so many, digits and letters, and letters of one case.
    mutating func mixedHexDigits(_ count: PartialRangeFrom<Int>) -> Bool {
        let end = NameBytes.end(of: bytes, from: position, while: NameBytes.isHexDigit)
        let digits = bytes[position..<end]
        let (lower, upper) = (digits.contains { $0 >= 0x61 }, digits.contains { (0x41...0x46).contains($0) })
        guard count.contains(digits.count), lower != upper, digits.contains(where: NameBytes.isDigit) else { return false }
        position = end
        return true
    }

    /// The rest, when there is some and no blank is in it.
    mutating func restWithoutBlanks() -> Bool {
        guard position < bytes.count, !bytes[position...].contains(where: NameBytes.isBlank) else { return false }
        position = bytes.count
        return true
    }
}
