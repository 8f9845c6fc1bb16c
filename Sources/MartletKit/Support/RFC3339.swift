package import Foundation

/// Times as the server writes them: UTC with milliseconds, `2026-11-21T12:00:00.000Z`.
package enum RFC3339 {
    /// The years 0001 to 9999, in milliseconds since 1970.
    private static let range: ClosedRange<Double> = -62_135_596_800_000...253_402_300_799_999

    package static func text(_ date: Date) -> String {
        // In binary, 0.678 s is slightly less than that, so half a microsecond is added.
        let exact = date.timeIntervalSince1970 * 1_000 + 0.0005
        // A comparison with NaN is false: such a date becomes the earliest one.
        let clamped = exact >= range.lowerBound ? min(exact, range.upperBound) : range.lowerBound
        let milliseconds = Int64(clamped.rounded(.down))
        let days = milliseconds.floored(by: 86_400_000)
        let rest = Int(milliseconds - days * 86_400_000)
        let (year, month, day) = civil(days: Int(days))
        return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" + padded(rest / 3_600_000, 2) + ":"
            + padded(rest / 60_000 % 60, 2) + ":" + padded(rest / 1_000 % 60, 2) + "." + padded(rest % 1_000, 3) + "Z"
    }

    /// Nil if the text is not a date-time of RFC 3339 with seconds and an offset.
    package static func date(_ text: String) -> Date? {
        var digits = Scanner(text)
        guard text.utf8.count <= 64, let year = digits.number(4), digits.take("-"), let month = digits.number(2),
            digits.take("-"), let day = digits.number(2), digits.take("T"), let hour = digits.number(2),
            digits.take(":"), let minute = digits.number(2), digits.take(":"), let second = digits.number(2),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        let milliseconds = digits.milliseconds()
        guard let offset = digits.offset(), digits.isAtEnd else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        guard civil(days: days) == (year, month, day) else { return nil }
        let seconds = Int64(days) * 86_400 + Int64(hour * 3_600 + (minute - offset) * 60 + second)
        return Date(timeIntervalSince1970: Double(seconds) + milliseconds / 1_000)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    /// The day of the proleptic Gregorian calendar. Years begin in March here, so that leap days come last.
    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = Int(Int64(shifted).floored(by: 146_097))
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
    }

    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = Int(Int64(shifted).floored(by: 400))
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = Substring(text).utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard let first = rest.first, UInt32(first) == character.value else { return false }
            rest.removeFirst()
            return true
        }

        mutating func number(_ count: Int) -> Int? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
            rest = rest.dropFirst(count)
            return digits.reduce(0) { $0 * 10 + Int($1) - 48 }
        }

        /// The fraction of a second. Digits after the ninth are ignored.
        mutating func milliseconds() -> Double {
            guard take(".") else { return 0 }
            let digits = rest.prefix { (48...57).contains($0) }
            rest = rest.dropFirst(digits.count)
            return Double("0." + String(decoding: digits.prefix(9), as: UTF8.self)).map { $0 * 1_000 } ?? 0
        }

        /// Minutes east of UTC.
        mutating func offset() -> Int? {
            if take("Z") { return 0 }
            let sign = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            return sign * (hours * 60 + minutes)
        }
    }
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
