import Foundation
import MartletCore

/// The values that a property of a screen object accepts.
enum PropertyType: Sendable, Equatable {
    case text(upTo: Int)
    case number(ClosedRange<Double>, isWhole: Bool)
    case boolean
    /// The name of a colour in the document.
    case color
    case choice([String])
    case texts
    case url
    case date
    /// Any JSON value.
    case any

    static let maximumTextLength = 10_000
    static let maximumTexts = 100

    enum Verdict: Equatable {
        case good
        /// Accepted, because the original TBAnalytics dashboard wrote it; the text names the better spelling.
        case discouraged(String)
        /// The value has the wrong type; the text names the expected one.
        case wrongType(String)
        case outOfRange(String)
        case unknownChoice(String, of: [String])
    }

    /// The original TBAnalytics dashboard writes an empty string for a property that is not set, whatever its type.
    func verdict(on value: JSONValue) -> Verdict {
        if case .string("") = value { return .good }
        switch self {
        case .text(let limit): return Self.text(value, upTo: limit)
        case .number(let range, let isWhole): return Self.number(value, in: range, isWhole: isWhole)
        case .boolean: return Self.boolean(value)
        case .color: return value.string == nil ? .wrongType("the name of a colour") : .good
        case .choice(let choices): return Self.choice(value, of: choices)
        case .texts: return Self.texts(value)
        case .url:
            let scheme = value.string.flatMap { URL(string: $0)?.scheme }
            return scheme == nil ? .wrongType("a URL with a scheme, such as https://…") : .good
        case .date:
            return value.string.map(Self.isDate) == true
                ? .good : .wrongType("a date, YYYY-MM-DD, or an RFC 3339 time")
        case .any: return .good
        }
    }

    private static func text(_ value: JSONValue, upTo limit: Int) -> Verdict {
        guard let text = value.string else { return .wrongType("text") }
        return text.unicodeScalars.count <= limit ? .good : .outOfRange("at most \(limit) characters")
    }

    private static func number(_ value: JSONValue, in range: ClosedRange<Double>, isWhole: Bool) -> Verdict {
        let name = isWhole ? "a whole number" : "a number"
        let literal: String
        var isText = false
        switch value {
        case .number(let text): literal = text
        case .string(let text): (literal, isText) = (text, true)
        default: return .wrongType(name)
        }
        guard let number = Double(literal), number.isFinite,
            !isText || (try? JSONValue(parsing: literal.utf8)) == .number(literal)
        else {
            return .wrongType(name)
        }
        guard !isWhole || number == number.rounded() else { return .wrongType(name) }
        guard range.contains(number) else { return .outOfRange(description(of: range)) }
        return isText ? .discouraged("a number, without quotes") : .good
    }

    private static func boolean(_ value: JSONValue) -> Verdict {
        switch value {
        case .bool: .good
        case .number("0"), .number("1"), .string("0"), .string("1"), .string("true"), .string("false"), .string("True"),
            .string("False"):
            .discouraged("true or false, without quotes")
        default: .wrongType("true or false")
        }
    }

    /// Also accepts the index of a choice, which the original TBAnalytics dashboard stored.
    private static func choice(_ value: JSONValue, of choices: [String]) -> Verdict {
        func isIndex(_ digits: String) -> Bool { Int(digits).map { choices.indices.contains($0) } ?? false }
        return switch value {
        case .string(let text) where choices.contains(text): .good
        case .string(let text):
            isIndex(text) ? .discouraged("a word from the list") : .unknownChoice(text, of: choices)
        case .number(let literal):
            isIndex(literal)
                ? .discouraged("a word from the list") : .outOfRange("a number from 0 to \(choices.count - 1)")
        default: .wrongType("one of: " + choices.joined(separator: ", "))
        }
    }

    private static func texts(_ value: JSONValue) -> Verdict {
        guard case .array(let elements) = value, elements.allSatisfy({ $0.string != nil }) else {
            return .wrongType("a list of strings")
        }
        guard elements.count <= maximumTexts, elements.allSatisfy({ text($0, upTo: maximumTextLength) == .good }) else {
            return .outOfRange("at most \(maximumTexts) strings of at most \(maximumTextLength) characters")
        }
        return .good
    }

    private static func isDate(_ text: String) -> Bool {
        CalendarDay(text) != nil || Date(rfc3339: text) != nil
    }

    private static func description(of range: ClosedRange<Double>) -> String {
        switch (range.lowerBound.isFinite, range.upperBound.isFinite) {
        case (true, true): "from \(short(range.lowerBound)) to \(short(range.upperBound))"
        case (true, false): "at least \(short(range.lowerBound))"
        default: "at most \(short(range.upperBound))"
        }
    }

    private static func short(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }
}

extension PropertyType {
    struct Malformed: Error, Equatable {
        let message: String
    }

    /// Reads a type as the catalogue writes it: its name, a list of choices, or
    /// `{"type","minimum","maximum","maximumLength","choices"}`.
    init(_ value: JSONValue) throws(Malformed) {
        switch value {
        case .string(let name): try self.init(named: name, value)
        case .array: self = .choice(try Self.choices(value))
        case .object(let members):
            let known: Set<String> = ["type", "minimum", "maximum", "maximumLength", "choices"]
            if let stray = members.first(where: { !known.contains($0.name) }) {
                throw Malformed(message: "The member \(stray.name) is unknown.")
            }
            guard let name = value["type"]?.string else { throw Malformed(message: "The member \"type\" is required.") }
            try self.init(named: name, value)
        default:
            throw Malformed(
                message: "Expected a property type: a name, a list of choices or an object, found \(value.phrase).")
        }
    }

    private init(named name: String, _ value: JSONValue) throws(Malformed) {
        switch name {
        case "text": self = .text(upTo: try Self.length(value["maximumLength"]))
        case "number", "integer":
            let (minimum, maximum) = (
                try Self.bound(value["minimum"], -.infinity), try Self.bound(value["maximum"], .infinity)
            )
            guard minimum <= maximum else {
                throw Malformed(message: "The minimum must not be greater than the maximum.")
            }
            self = .number(minimum...maximum, isWhole: name == "integer")
        case "boolean": self = .boolean
        case "color": self = .color
        case "choice": self = .choice(try Self.choices(value["choices"] ?? .null))
        case "texts": self = .texts
        case "url": self = .url
        case "date": self = .date
        case "any": self = .any
        default:
            throw Malformed(
                message:
                    "The type must be text, number, integer, boolean, color, choice, texts, url, date or any, not \(name)."
            )
        }
    }

    private static func choices(_ value: JSONValue) throws(Malformed) -> [String] {
        guard case .array(let elements) = value, (1...200).contains(elements.count) else {
            throw Malformed(message: "Choices must be a list of 1 to 200 strings.")
        }
        let words = elements.compactMap(\.string).filter { (1...200).contains($0.unicodeScalars.count) }
        guard words.count == elements.count, Set(words).count == words.count else {
            throw Malformed(message: "Choices must be distinct strings of 1 to 200 characters.")
        }
        return words
    }

    private static func length(_ value: JSONValue?) throws(Malformed) -> Int {
        guard let value else { return maximumTextLength }
        guard case .number(let literal) = value, let length = Int(literal), (1...maximumTextLength).contains(length)
        else {
            throw Malformed(message: "maximumLength must be a whole number from 1 to \(maximumTextLength).")
        }
        return length
    }

    private static func bound(_ value: JSONValue?, _ standard: Double) throws(Malformed) -> Double {
        guard let value else { return standard }
        guard case .number(let literal) = value, let number = Double(literal), number.isFinite else {
            throw Malformed(message: "minimum and maximum must be numbers.")
        }
        return number
    }
}

extension JSONValue {
    /// Nil if the value is not a string.
    var string: String? { if case .string(let text) = self { text } else { nil } }

    /// Nil if the value is not an object.
    var members: [Member]? { if case .object(let members) = self { members } else { nil } }

    /// Nil if the value is not an array.
    var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
}
