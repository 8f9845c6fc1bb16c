import Foundation
import MartletCore

/// A local date and time without time zone, `2026-12-24T18:00`, which is a different moment in each zone.
struct LocalTime: Sendable, Equatable {
    /// Seconds since 1970 if the time is read as UTC.
    let seconds: Int

    /// Nil when the text is malformed.
    init?(_ text: String) {
        guard text.utf8.count == 16, let date = Date(rfc3339: text + ":00Z") else { return nil }
        seconds = Int(date.timeIntervalSince1970)
    }

    init(seconds: Int) {
        self.seconds = seconds
    }

    /// The local time at a moment.
    init(of date: Date, in zone: TimeZone) {
        seconds = Int(date.timeIntervalSince1970.rounded(.down)) + zone.secondsFromGMT(for: date)
    }

    var text: String { String(Date(timeIntervalSince1970: Double(seconds)).rfc3339.prefix(16)) }

    /// The moment in a time zone. A time skipped at the start of daylight saving time becomes the one after the gap.
    func date(in zone: TimeZone) -> Date {
        let wall = Date(timeIntervalSince1970: Double(seconds))
        let guess = wall.addingTimeInterval(-Double(zone.secondsFromGMT(for: wall)))
        let date = wall.addingTimeInterval(-Double(zone.secondsFromGMT(for: guess)))
        return LocalTime(of: date, in: zone).seconds < seconds ? max(guess, date) : date
    }

    /// When the first place on Earth reaches this time, and when the last one does.
    var earliest: Date { Date(timeIntervalSince1970: Double(seconds - 14 * 3_600)) }
    var latest: Date { Date(timeIntervalSince1970: Double(seconds + 12 * 3_600)) }

    var minuteOfDay: Int { seconds / 60 % 1_440 }
}
