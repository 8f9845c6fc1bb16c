public import Foundation
public import MartletCore

/// Values in all the forms in which clients write them.
extension JSONValue {
    /// Text; numbers and booleans count as their text.
    public var looseText: String? {
        switch self {
        case .string(let text): text
        case .number(let literal): literal
        case .bool(let value): value ? "true" : "false"
        default: nil
        }
    }

    /// A number, or text that is one.
    public var looseNumber: Double? {
        switch self {
        case .number(let literal): Double(literal)
        case .string(let text): Double(text)
        default: nil
        }
    }

    /// A boolean, or its equivalent as text or as 0 or 1.
    public var looseFlag: Bool? {
        switch self {
        case .bool(let value): value
        case .string("true"), .string("True"), .number("1"): true
        case .string("false"), .string("False"), .number("0"): false
        default: nil
        }
    }

    /// The elements of a list or of `{"values":[…]}`, or the object itself as the only element; without nulls.
    public var looseList: [JSONValue] {
        switch self {
        case .array(let elements): elements.filter { $0 != .null }
        case .object(let members):
            if let values = members.first(where: { $0.name == "values" })?.value { values.looseList } else { [self] }
        default: []
        }
    }

    /// The members of an object, or the pairs of `[["name","value"],…]` and `[{"key":…,"value":…},…]`.
    public var looseMembers: [Member] {
        switch self {
        case .object(let members): members
        case .array(let elements):
            elements.compactMap { element in
                switch element {
                case .array(let pair) where pair.count == 2: pair[0].looseText.map { Member($0, pair[1]) }
                case .object: element["key"]?.looseText.map { Member($0, element["value"] ?? .null) }
                default: nil
                }
            }
        default: []
        }
    }

    var isObject: Bool { if case .object = self { true } else { false } }
}

extension Date {
    /// Parses a time in RFC 3339, or a number of seconds or milliseconds since 1970. The `T` may be a blank, and a time
    /// without a zone is UTC.
    public init?(loose value: JSONValue?) {
        if let seconds = value?.looseNumber {
            // Above 1e11 the seconds would lie beyond the year 5000: the number is in milliseconds.
            let seconds = abs(seconds) > 1e11 ? seconds / 1000 : seconds
            guard seconds.isFinite, (0...253_402_300_799).contains(seconds) else { return nil }
            self = Date(timeIntervalSince1970: seconds)
            return
        }
        guard case .string(let text) = value, let date = Self.lenient(text) else { return nil }
        self = date
    }

    private static func lenient(_ text: String) -> Date? {
        guard (19...40).contains(text.utf8.count) else { return nil }
        var text = text.replacing(" ", with: "T", maxReplacements: 1)
        // Python and Rust write more fractional digits than the parser accepts.
        if let point = text.firstIndex(of: ".") {
            let fraction = text[text.index(after: point)...]
            let digits = fraction.prefix { $0.isNumber }
            text =
                String(text[...point]) + String((String(digits) + "000").prefix(3))
                + String(fraction.dropFirst(digits.count))
        }
        let time = text.dropFirst(11)
        if !time.hasSuffix("Z"), !time.contains("+"), !time.contains("-") { text += "Z" }
        return Date(rfc3339: text)
    }
}

extension UUID {
    /// An event's id: 32 hexadecimal digits, with or without hyphens.
    public init?(eventID text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.utf8.count == 32, digits.allSatisfy(\.isHexDigit) else { return nil }
        var grouped = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { grouped.append("-") }
            grouped.append(digit)
        }
        self.init(uuidString: grouped)
    }

    /// The id in the form used by Sentry's clients: 32 digits in lower case.
    public var eventID: String { uuidString.lowercased().filter { $0 != "-" } }
}

extension String {
    /// The first `limit` characters; the whole string if it has at most `limit` bytes in UTF-8.
    func cut(to limit: Int) -> String { utf8.count <= limit ? self : String(prefix(limit)) }

    /// The beginning of the string, at most `limit` bytes in UTF-8.
    public func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
