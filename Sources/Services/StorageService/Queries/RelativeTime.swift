import Foundation
import MartletAPI
import MartletCore

/// A time such as `now`, `in 2 days 3 hours` or `10 minutes ago`.
enum RelativeTime {
    private static let seconds: [String: Double] = [
        "yr": 31_536_000, "yrs": 31_536_000, "year": 31_536_000, "years": 31_536_000, "wk": 604_800, "wks": 604_800,
        "week": 604_800,
        "weeks": 604_800, "d": 86_400, "day": 86_400, "days": 86_400, "hr": 3_600, "hrs": 3_600, "hour": 3_600,
        "hours": 3_600,
        "min": 60, "mins": 60, "minute": 60, "minutes": 60, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    ]

    /// - Throws: `invalid-filter`.
    static func date(_ text: String, from now: Date, field: String) throws -> Date {
        var words = text.lowercased().split(separator: " ")
        if words == ["now"] { return now }
        let refusal = ServiceError(
            .invalidFilter,
            """
            Expected a $relativeTime such as "now", "in 2 days" or "3 hours 5 minutes ago", \
            found \(JSONValue.excerpt(text)).
            """, field: field)
        let isFuture = words.first == "in"
        if isFuture { words.removeFirst() } else if words.last == "ago" { words.removeLast() } else { throw refusal }
        guard !words.isEmpty, words.count % 2 == 0, words.count <= 12 else { throw refusal }
        var sum = 0.0
        for index in stride(from: 0, to: words.count, by: 2) {
            guard let number = Int(words[index]), (0...1_000_000).contains(number),
                let unit = seconds[String(words[index + 1])]
            else { throw refusal }
            sum += Double(number) * unit
        }
        let date = now.addingTimeInterval(isFuture ? sum : -sum)
        guard abs(date.timeIntervalSince1970) < 200_000_000_000 else { throw refusal }
        return date
    }
}
