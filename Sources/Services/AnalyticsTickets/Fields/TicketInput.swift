import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Parses and validates fields that people write.
enum TicketInput {
    /// A single line, trimmed; nil if the field is missing or null.
    ///
    /// - Throws: `invalid-body`.
    static func line(_ fields: BodyFields, _ name: String, from minimum: Int = 1, upTo limit: Int) throws -> String? {
        guard let text = try fields.string(name)?.trimmingCharacters(in: .whitespacesAndNewlines) else { return nil }
        let length = text.unicodeScalars.count
        guard (minimum...limit).contains(length) else {
            throw ServiceError(
                .invalidBody, "Expected \(minimum) to \(limit) characters, found \(length).", field: name)
        }
        guard !text.unicodeScalars.contains(where: isControl) else {
            throw ServiceError(.invalidBody, "Expected a line without control characters.", field: name)
        }
        return text
    }

    /// A text of any number of lines, unchanged; nil if the field is missing or null.
    ///
    /// - Throws: `invalid-body`.
    static func text(_ fields: BodyFields, _ name: String, from minimum: Int = 0, upTo limit: Int) throws -> String? {
        guard let text = try fields.string(name) else { return nil }
        guard (minimum...limit).contains(text.unicodeScalars.count), minimum == 0 || !isBlank(text) else {
            throw ServiceError(
                .invalidBody, "Expected \(minimum) to \(limit) characters, not only whitespace.", field: name)
        }
        guard !text.unicodeScalars.contains(where: { isControl($0) && !["\n", "\r", "\t"].contains($0) }) else {
            throw ServiceError(
                .invalidBody, "Expected no control characters except line breaks and tabs.", field: name)
        }
        return text
    }

    /// One of an enumeration's words; nil if the field is missing. Unlike `BodyFields.choice`, it refuses null.
    ///
    /// - Throws: `invalid-body`.
    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ fields: BodyFields, _ name: String, _: Choice.Type
    ) throws -> Choice? {
        try fields[name] == nil ? nil : fields.requiredChoice(name)
    }

    /// The number of a ticket, sprint or the like; nil if the field is missing or null.
    static func number(_ fields: BodyFields, _ name: String) throws -> Int? {
        try fields.integer(name, in: 1...Int(Int32.max))
    }

    /// A list of such numbers without duplicates; nil if the field is missing.
    static func numbers(_ fields: BodyFields, _ name: String, upTo limit: Int) throws -> [Int]? {
        guard let value = fields[name], value != .null else { return nil }
        guard case .array(let elements) = value, elements.count <= limit else {
            throw ServiceError(.invalidBody, "Expected an array of at most \(limit) numbers.", field: name)
        }
        let numbers = elements.compactMap {
            if case .number(let literal) = $0 { Int32(literal).map(Int.init) } else { nil }
        }.filter { $0 > 0 }
        guard numbers.count == elements.count, Set(numbers).count == numbers.count else {
            throw ServiceError(
                .invalidBody, "Expected an array of different whole numbers, each at least 1.", field: name)
        }
        return numbers
    }

    /// A day such as `2026-11-22`; nil if the field is missing or null.
    static func day(_ fields: BodyFields, _ name: String) throws -> String? {
        guard let text = try fields.string(name) else { return nil }
        guard let day = CalendarDay(text), (1_900...2_100).contains(day.year) else {
            throw ServiceError.unexpectedMember(name, expected: "a day such as 2026-11-22", found: text)
        }
        return text
    }

    /// A number in the path; nil if it is not a number.
    static func number(_ context: ServiceContext, _ name: String) -> Int? {
        Int32(context.component(name)).flatMap { $0 > 0 ? Int($0) : nil }
    }

    /// A ticket's number in the path, such as `12` or `APP-12`.
    ///
    /// - Throws: `ticket-not-found` if it is neither.
    static func ticket(_ context: ServiceContext, _ name: String = "ticket") throws -> Int {
        guard let number = ticketNumber(context.component(name)) else { throw ServiceError(.ticketNotFound) }
        return number
    }

    /// Parses `12` or `APP-12`.
    static func ticketNumber(_ text: String) -> Int? {
        guard let match = text.wholeMatch(of: /(?:[A-Za-z][A-Za-z0-9]{0,9}-)?([0-9]{1,10})/),
            let number = Int32(match.1), number > 0
        else { return nil }
        return Int(number)
    }

    static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .control }

    private static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }
}
