import MartletCore

/// The end of a page of events, which are ordered by `received` and key.
struct EventCursor: Sendable, Equatable {
    /// From 1970 to the end of the year 9999, in microseconds; PostgreSQL's range is larger.
    private static let times = 0..<Int64(253_402_300_800_000_000)

    /// Microseconds since 1970.
    var received: Int64
    var key: Int64

    var text: String { Hexadecimal.text(bytes(received) + bytes(key)) }

    init(received: Int64, key: Int64) {
        self.received = received
        self.key = key
    }

    /// Parses a cursor; nil if the text is not one.
    init?(_ text: String) {
        let digits = Array(text)
        guard digits.count == 32, digits.allSatisfy(\.isHexDigit),
            let received = Int64(String(digits[..<16]), radix: 16), Self.times.contains(received),
            let key = UInt64(String(digits[16...]), radix: 16)
        else { return nil }
        self.init(received: received, key: Int64(bitPattern: key))
    }

    private func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
