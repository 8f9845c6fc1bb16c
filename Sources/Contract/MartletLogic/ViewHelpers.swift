public import Foundation

extension LogicOperations {
    /// JsonLogic's operations, plus those with which the views of app definitions format values:
    /// `format_date` (a time in RFC 3339, a stored `Date` or seconds since 1970, a pattern of Unicode TS 35, optionally
    /// the name of a time zone),
    /// `format_number` (a number, optionally the minimum and maximum number of decimals) and
    /// `template` (a text with `{name}` or `{name.name}`, an object).
    ///
    /// Values of other types are shown unchanged: a view never fails because of its data.
    public static func views(locale: Locale = .current, timeZone: TimeZone = .current) -> LogicOperations {
        var operations = standard
        operations["format_date"] = { arguments in
            guard arguments.count > 1, let date = date(arguments[0]) else { return arguments.first ?? .null }
            let zone = arguments.count > 2 ? TimeZone(identifier: arguments[2].text) : timeZone
            return .string(format(date, arguments[1].text, locale, zone ?? timeZone))
        }
        operations["format_number"] = { arguments in
            guard let value = arguments.first, value.number.isFinite else { return arguments.first ?? .null }
            return .string(format(value.number, arguments.dropFirst().map(\.number), locale))
        }
        operations["template"] = { arguments in
            .string(fill(in: arguments.first?.text ?? "", arguments.count > 1 ? arguments[1] : .null))
        }
        return operations
    }

    private static func date(_ value: LogicValue) -> Date? {
        switch value {
        case .number(let seconds) where seconds.magnitude < 1e12: Date(timeIntervalSince1970: seconds)
        case .string(let text): date(text)
        case .object(let members): if case .string(let text)? = members["iso"] { date(text) } else { nil }
        default: nil
        }
    }

    private static func date(_ text: String) -> Date? {
        (try? Date.ISO8601FormatStyle().parse(text))
            ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
    }

    private static func format(_ date: Date, _ pattern: String, _ locale: Locale, _ timeZone: TimeZone) -> String {
        let formatter = DateFormatter()
        formatter.locale = locale
        formatter.timeZone = timeZone
        formatter.dateFormat = pattern
        return formatter.string(from: date)
    }

    private static func format(_ number: Double, _ decimals: [Double], _ locale: Locale) -> String {
        let least = decimals.first.map { Int(max(0, min(15, $0))) } ?? 0
        let most = decimals.count > 1 ? Int(max(0, min(15, decimals[1]))) : max(least, decimals.isEmpty ? 3 : least)
        return number.formatted(
            FloatingPointFormatStyle<Double>(locale: locale).precision(.fractionLength(least...max(least, most))))
    }

    /// Replaces names in braces with their values; absent values are omitted.
    private static func fill(in text: String, _ data: LogicValue) -> String {
        var result = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let path = rest[rest.index(after: open)..<close].split(separator: ".").map(String.init)
            let value = path.reduce(Optional(data)) { $0?[$1] } ?? .null
            result += rest[..<open] + (value == .null ? "" : value.text)
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
