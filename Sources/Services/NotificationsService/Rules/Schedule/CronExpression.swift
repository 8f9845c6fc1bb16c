import Foundation

/// A schedule in `cron` syntax: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). Each field
/// is `*`, a number, a range, a step (`*/15`, `8-18/2`) or a list of these. If both day fields are restricted, a day
/// must match only one of them.
struct CronExpression: Sendable, Equatable {
    private let minutes: Set<Int>
    private let hours: Set<Int>
    private let days: Set<Int>
    private let months: Set<Int>
    private let weekdays: Set<Int>
    private let isEitherDay: Bool

    /// Nil when the text is malformed.
    init?(_ text: String) {
        let fields = text.split(separator: " ")
        guard fields.count == 5, text.utf8.count <= 200, let minutes = Self.values(fields[0], 0...59),
            let hours = Self.values(fields[1], 0...23),
            let days = Self.values(fields[2], 1...31), let months = Self.values(fields[3], 1...12),
            let weekdays = Self.values(fields[4], 0...7)
        else { return nil }
        self.minutes = minutes
        self.hours = hours
        self.days = days
        self.months = months
        self.weekdays = Set(weekdays.map { $0 % 7 })
        isEitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    }

    private static func values(_ field: Substring, _ range: ClosedRange<Int>) -> Set<Int>? {
        var values: Set<Int> = []
        for part in field.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "/", omittingEmptySubsequences: false)
            guard halves.count <= 2, let first = halves.first else { return nil }
            let ends = first.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            let bounds: (Int, Int)
            switch (first, ends.count) {
            case ("*", _): bounds = (range.lowerBound, range.upperBound)
            case (_, 1):
                guard let number = ends[0] else { return nil }
                bounds = (number, halves.count == 2 ? range.upperBound : number)
            case (_, 2):
                guard let low = ends[0], let high = ends[1] else { return nil }
                bounds = (low, high)
            default: return nil
            }
            guard let step = halves.count == 2 ? Int(halves[1]) : 1, step > 0, range.contains(bounds.0),
                range.contains(bounds.1), bounds.0 <= bounds.1
            else { return nil }
            values.formUnion(stride(from: bounds.0, through: bounds.1, by: step))
        }
        return values
    }

    /// The first match after `time` in the local time of `timeZone`; nil if there is none within five years.
    ///
    /// A local time skipped when clocks go forward is dropped; one that occurs twice counts only the first time.
    func next(after time: Date, in timeZone: TimeZone) -> Date? {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        var day = calendar.startOfDay(for: time)
        for _ in 0..<(5 * 366) {
            if fits(calendar.dateComponents([.day, .month, .weekday], from: day)),
                let found = minute(of: day, after: time, calendar)
            {
                return found
            }
            guard let next = calendar.date(byAdding: .day, value: 1, to: day) else { return nil }
            day = calendar.startOfDay(for: next)
        }
        return nil
    }

    private func fits(_ parts: DateComponents) -> Bool {
        guard let day = parts.day, let month = parts.month, let weekday = parts.weekday, months.contains(month) else {
            return false
        }
        let isDay = days.contains(day)
        let isWeekday = weekdays.contains(weekday - 1)
        return isEitherDay ? isDay || isWeekday : isDay && isWeekday
    }

    private func minute(of day: Date, after time: Date, _ calendar: Calendar) -> Date? {
        let date = calendar.dateComponents([.year, .month, .day], from: day)
        for hour in hours.sorted() {
            for minute in minutes.sorted() {
                var parts = date
                (parts.hour, parts.minute) = (hour, minute)
                guard let found = calendar.date(from: parts), found > time else { continue }
                let shown = calendar.dateComponents([.day, .hour, .minute], from: found)
                if shown.day == date.day, shown.hour == hour, shown.minute == minute { return found }
            }
        }
        return nil
    }
}
