public import Foundation

extension Date {
    /// Parses an RFC 3339 date-time (§5.6): `2026-11-22T08:48:59Z`, with or without fractional seconds. Nil for
    /// anything else.
    ///
    /// `T` and `Z` must be upper case. The day must exist, and the year must be 0001 to 9999, in UTC too. Hours are 0
    /// to 23, seconds 0 to 59 (leap seconds are refused), and offsets at most 15:59, as in PostgreSQL. Fractional
    /// digits after the ninth are ignored.
    public init?(rfc3339 text: String) {
        guard text.utf8.count <= 64 else { return nil }
        var reader = DigitReader(Array(text.utf8))
        guard let day = reader.day(), reader.take("T"), let hour = reader.number(digits: 2, in: 0...23),
            reader.take(":"),
            let minute = reader.number(digits: 2, in: 0...59), reader.take(":"),
            let second = reader.number(digits: 2, in: 0...59)
        else { return nil }
        var fraction = 0.0
        if reader.take(".") {
            guard let read = reader.fraction() else { return nil }
            fraction = read
        }
        guard let offset = reader.offsetInMinutes(), reader.isAtEnd else { return nil }
        let seconds = day.daysSince1970 * 86_400 + hour * 3_600 + (minute - offset) * 60 + second
        guard RFC3339.range.contains(seconds) else { return nil }
        self.init(timeIntervalSince1970: Double(seconds) + fraction)
    }

    /// The time in UTC with milliseconds, `2026-11-21T12:00:00.000Z`. It has 24 characters and sorts in chronological
    /// order. Times outside the supported years are clamped.
    public var rfc3339: String {
        let seconds = max(
            Double(RFC3339.range.lowerBound), min(Double(RFC3339.range.upperBound) + 0.999, timeIntervalSince1970))
        // In binary, 0.678 s is slightly less than that, so add half a microsecond; PostgreSQL's times have no smaller
        // unit.
        let milliseconds = Int((seconds * 1_000 + 0.0005).rounded(.down))
        let (days, rest) = milliseconds.flooredQuotient(by: 86_400_000)
        func part(_ unit: Int, _ limit: Int, _ width: Int = 2) -> String {
            CalendarDay.padded(rest / unit % limit, to: width)
        }
        return CalendarDay(daysSince1970: days).text
            + "T\(part(3_600_000, 24)):\(part(60_000, 60)):\(part(1_000, 60)).\(part(1, 1_000, 3))Z"
    }
}

private enum RFC3339 {
    /// The years 0001 to 9999, in seconds since 1970.
    static let range = -62_135_596_800...253_402_300_799
}

extension DigitReader {
    fileprivate mutating func offsetInMinutes() -> Int? {
        if take("Z") { return 0 }
        let sign = take("+") ? 1 : take("-") ? -1 : 0
        guard sign != 0, let hours = number(digits: 2, in: 0...15), take(":"),
            let minutes = number(digits: 2, in: 0...59)
        else { return nil }
        return sign * (hours * 60 + minutes)
    }
}

extension Int {
    fileprivate func flooredQuotient(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
