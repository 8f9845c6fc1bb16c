import Foundation

/// The value of `Date` headers (RFC 9110 §5.6.7).
struct HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private var second: time_t = -1
    private(set) var text = ""

    /// The text for a time in seconds since 1970. Made only once for the same second.
    mutating func text(at second: time_t) -> String {
        guard second != self.second else { return text }
        var (time, parts) = (second, tm())
        gmtime_r(&time, &parts)
        func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
        self.second = second
        text = """
            \(Self.days[Int(parts.tm_wday)]), \(twoDigits(parts.tm_mday)) \(Self.months[Int(parts.tm_mon)]) \
            \(parts.tm_year + 1900) \(clock) GMT
            """
        return text
    }
}
