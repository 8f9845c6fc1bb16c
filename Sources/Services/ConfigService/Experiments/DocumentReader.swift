import Foundation
import MartletAPI
import MartletCore

/// Reads values from a document and collects what is wrong with them.
struct DocumentReader {
    private(set) var findings: [Finding] = []

    mutating func error(_ code: String, at path: String, _ message: String) {
        findings.append(Finding(.error, code, at: path, message))
    }
    mutating func warning(_ code: String, at path: String, _ message: String) {
        findings.append(Finding(.warning, code, at: path, message))
    }
    mutating func add(_ more: [Finding]) { findings += more }

    /// An object, reporting unknown members; nil if it is missing or not an object.
    mutating func object(_ value: JSONValue?, at path: String, known: Set<String>) -> JSONValue? {
        guard let value, value != .null else { return nil }
        guard case .object(let members) = value else {
            error("wrong-type", at: path, "Expected an object, found \(value.phrase).")
            return nil
        }
        for member in members where !known.contains(member.name) {
            error("unknown-member", at: path + "/" + JSONPointer.escape(member.name), "This member is unknown.")
        }
        return value
    }

    mutating func elements(_ value: JSONValue?, at path: String, in count: ClosedRange<Int>) -> [JSONValue] {
        guard let value, value != .null || count.contains(0) else {
            error("required", at: path, "This is required.")
            return []
        }
        guard case .array(let elements) = value, count.contains(elements.count) else {
            if value != .null {
                let found = value.elements.map { "\($0.count)" } ?? value.phrase
                error(
                    "wrong-type", at: path,
                    "Expected an array of \(count.lowerBound) to \(count.upperBound) elements, found \(found).")
            }
            return []
        }
        return elements
    }

    mutating func text(_ value: JSONValue?, at path: String, upTo limit: Int = 200) -> String? {
        guard let value, value != .null else { return nil }
        guard case .string(let text) = value else {
            error("wrong-type", at: path, "Expected a string, found \(value.phrase).")
            return nil
        }
        let count = text.unicodeScalars.count
        guard count <= limit else {
            error("wrong-type", at: path, "Expected at most \(limit) characters, found \(count).")
            return nil
        }
        return text
    }

    /// A document name without `~`.
    mutating func name(_ value: JSONValue?, at path: String) -> String {
        guard case .string(let text)? = value, DocumentKey.isName(text), !text.contains("~") else {
            error(
                "invalid-name", at: path,
                "Expected 1 to 64 letters, digits and . _ -, starting with a letter or digit, found "
                    + Self.quote(value) + ".")
            return ""
        }
        return text
    }

    /// A number; nil if it is missing or outside the range.
    mutating func number(_ value: JSONValue?, at path: String, in range: ClosedRange<Double>) -> Double? {
        guard let value, value != .null else { return nil }
        guard case .number(let literal) = value, let number = Double(literal), range.contains(number) else {
            error(
                "out-of-range", at: path,
                "Expected a number from \(range.lowerBound) to \(range.upperBound), found \(value.phrase).")
            return nil
        }
        return number
    }

    mutating func integer(_ value: JSONValue?, at path: String, in range: ClosedRange<Int>) -> Int? {
        guard let value, value != .null else { return nil }
        guard case .number(let literal) = value, let number = Int(literal), range.contains(number) else {
            error(
                "out-of-range", at: path,
                "Expected a whole number from \(range.lowerBound) to \(range.upperBound), found \(value.phrase).")
            return nil
        }
        return number
    }

    mutating func flag(_ value: JSONValue?, at path: String) -> Bool? {
        guard let value, value != .null else { return nil }
        guard case .bool(let flag) = value else {
            error("wrong-type", at: path, "Expected true or false, found \(value.phrase).")
            return nil
        }
        return flag
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ value: JSONValue?, at path: String)
        -> Choice?
    {
        guard let value, value != .null else { return nil }
        guard case .string(let text) = value, let choice = Choice(rawValue: text) else {
            let expected = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            error("unknown-value", at: path, "Expected one of \(expected), found \(Self.quote(value)).")
            return nil
        }
        return choice
    }

    mutating func time(_ value: JSONValue?, at path: String) -> Date? {
        guard let value, value != .null else { return nil }
        guard case .string(let text) = value, let time = Date(rfc3339: text) else {
            error("wrong-type", at: path, "Expected a time such as 2026-11-22T08:48:59Z, found \(Self.quote(value)).")
            return nil
        }
        return time
    }

    /// The beginning of a string in quotes, or what else the value is.
    private static func quote(_ value: JSONValue?) -> String {
        guard case .string(let text)? = value else { return value?.phrase ?? "nothing" }
        return JSONValue.excerpt(text)
    }
}
