/// A day in the proleptic Gregorian calendar, from year 1 to 9999.
public struct CalendarDay: Sendable, Hashable {
    public let year: Int
    public let month: Int
    public let day: Int

    /// Nil if the day does not exist, such as 30 February.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...9_999).contains(year), (1...12).contains(month), (1...Self.length(year, month)).contains(day) else {
            return nil
        }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// - Parameter text: A full-date of RFC 3339 §5.6, `2026-11-22`, and nothing else.
    public init?(_ text: some StringProtocol) {
        var reader = DigitReader(Array(text.utf8))
        guard let day = reader.day(), reader.isAtEnd else { return nil }
        self = day
    }

    /// - Parameter days: Days since 1970-01-01, within the supported years.
    init(daysSince1970 days: Int) {
        // Years begin in March here, so that a leap day is the last day of its year (H. Hinnant, "chrono-Compatible
        // Low-Level Date Algorithms").
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    public var daysSince1970: Int {
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    /// The day in the format of `init(_:)`.
    public var text: String { "\(Self.padded(year, to: 4))-\(Self.padded(month, to: 2))-\(Self.padded(day, to: 2))" }

    static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// The number of days in a month.
    private static func length(_ year: Int, _ month: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// Parses the fixed-width fields of RFC 3339.
struct DigitReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func number(digits count: Int, in range: ClosedRange<Int>) -> Int? {
        guard position + count <= bytes.count else { return nil }
        var number = 0
        for byte in bytes[position..<position + count] {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        guard range.contains(number) else { return nil }
        position += count
        return number
    }

    /// Parses a fraction of one or more digits. Those after the ninth are ignored.
    mutating func fraction() -> Double? {
        let start = position
        var (number, scale) = (0, 1.0)
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            if position - start < 9 {
                number = number * 10 + Int(bytes[position] - 0x30)
                scale *= 10
            }
            position += 1
        }
        return position > start ? Double(number) / scale : nil
    }

    mutating func day() -> CalendarDay? {
        guard let year = number(digits: 4, in: 1...9_999), take("-"), let month = number(digits: 2, in: 1...12),
            take("-"),
            let day = number(digits: 2, in: 1...31)
        else { return nil }
        return CalendarDay(year: year, month: month, day: day)
    }
}
