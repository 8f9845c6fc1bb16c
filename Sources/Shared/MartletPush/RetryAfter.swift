import Foundation

/// The header `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// Longer delays are shortened to this one.
    static let maximum: Duration = .seconds(24 * 3_600)

    /// Parses seconds, or a date in the form that senders must use; nil for other values.
    static func duration(_ text: String?, at now: Date) -> Duration? {
        guard let text else { return nil }
        if let seconds = UInt32(text) { return min(.seconds(Int64(seconds)), maximum) }
        guard let date = try? Date(text, strategy: httpDate) else { return nil }
        return min(.seconds(Int64(max(0, date.timeIntervalSince(now).rounded(.up)))), maximum)
    }

    private static let httpDate = Date.ParseStrategy(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT
            """,
        locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt)
}
