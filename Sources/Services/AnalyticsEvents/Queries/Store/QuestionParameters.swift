import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Parameters shared by all questions.
extension Request {
    /// - Throws: `invalid-parameter`.
    func spanRequest(intervals: [Span.Interval], default interval: Span.Interval) throws -> Span.Request {
        Span.Request(
            from: try day("from"), to: try day("to"),
            interval: try choice("interval", of: intervals, default: interval), timeZone: try timeZone())
    }

    func format() throws -> AnswerTable.Format { try choice("format", of: AnswerTable.Format.allCases, default: .json) }

    /// - Throws: `invalid-parameter`.
    func choice<Choice: RawRepresentable<String>>(_ name: Substring, of choices: [Choice], default choice: Choice)
        throws -> Choice
    {
        guard let text = uri.queryParameters[name] else { return choice }
        guard let choice = choices.first(where: { $0.rawValue == text }) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "one of \(choices.map(\.rawValue).joined(separator: ", "))", found: text)
        }
        return choice
    }

    /// A text of at most 1,000 bytes; nil if it is missing or empty.
    func text(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name].map(String.init), !text.isEmpty else { return nil }
        guard text.utf8.count <= 1_000, !text.utf8.contains(0) else {
            throw ServiceError(
                .invalidParameter, "Expected at most 1000 bytes without NUL characters.", field: String(name))
        }
        return text
    }

    private func day(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let day = CalendarDay(text), (2_000...2_099).contains(day.year) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "a day from 2000 to 2099, such as 2026-11-22", found: text)
        }
        return String(text)
    }

    private func timeZone() throws -> String? {
        guard let text = uri.queryParameters["timeZone"] else { return nil }
        guard TimeZone(iana: String(text)) != nil else {
            throw ServiceError.unexpectedParameter(
                "timeZone", expected: "a time zone of the IANA database, such as Europe/Dublin", found: text)
        }
        return String(text)
    }
}

extension ServiceContext {
    /// The space that a question is about, if the principal may read it.
    ///
    /// - Throws: `forbidden`, `app-not-found`, and as `author(may:_:)`.
    func questionSpace(_ spaces: Spaces) async throws -> Space {
        _ = try author(may: .read, .analytics)
        return try await spaces.space(of: try principal)
    }
}
