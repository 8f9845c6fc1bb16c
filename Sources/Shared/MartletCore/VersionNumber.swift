/// The version number of an app: 1 to 4 whole numbers and an optional pre-release (Semantic Versioning 2.0.0 §9), such
/// as `1.10` or `2.0.0-beta.2`.
public struct VersionNumber: Sendable, Equatable {
    public let text: String
    /// Sorts byte-wise in order of precedence (§11). Omitted numbers are zero, so 1.0 equals 1.0.0.
    public let sortKey: String

    /// Nil if the syntax is invalid.
    public init?(_ text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let numbers = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard (1...4).contains(numbers.count), numbers.allSatisfy(Self.isNumber) else { return nil }
        let padded = (0..<4).map { $0 < numbers.count ? Self.padded(numbers[$0]) : Self.padded("0") }
        guard parts.count == 2 else {
            self.text = text
            // Sorts after every pre-release.
            sortKey = padded.joined() + "~"
            return
        }
        let identifiers = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard identifiers.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isIdentifierCharacter) }) else {
            return nil
        }
        guard identifiers.allSatisfy({ Self.isNumber($0) || !$0.utf8.allSatisfy(Self.isDigit) }) else { return nil }
        self.text = text
        // A blank sorts before every character of an identifier; numbers sort before words.
        sortKey =
            padded.joined() + "-"
            + identifiers.map { Self.isNumber($0) ? "0" + Self.padded($0) : "1" + $0 }.joined(separator: " ")
    }

    /// Accepts at most twelve digits without leading zeros.
    private static func isNumber(_ text: Substring) -> Bool {
        (1...12).contains(text.utf8.count) && text.utf8.allSatisfy(isDigit)
            && (text.utf8.count == 1 || text.first != "0")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isIdentifierCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"): true
        default: isDigit(byte)
        }
    }

    private static func padded(_ digits: Substring) -> String {
        String(repeating: "0", count: 12 - digits.utf8.count) + digits
    }
}
