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
            throw ServiceError(
                .invalidParameter, "Expected one of \(choices.map(\.rawValue).joined(separator: ", ")).",
                field: String(name))
        }
        return choice
    }

    /// A text of at most 1,000 bytes; nil if it is missing or empty.
    func text(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name].map(String.init), !text.isEmpty else { return nil }
        guard text.utf8.count <= 1_000, !text.utf8.contains(0) else {
            throw ServiceError(.invalidParameter, "It is too long.", field: String(name))
        }
        return text
    }

    private func day(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let day = CalendarDay(text), (2_000...2_099).contains(day.year) else {
            throw ServiceError(.invalidParameter, "Expected a day such as 2026-11-22.", field: String(name))
        }
        return String(text)
    }

    private func timeZone() throws -> String? {
        guard let text = uri.queryParameters["timeZone"] else { return nil }
        guard TimeZone(iana: String(text)) != nil else {
            throw ServiceError(
                .invalidParameter,
                "There is no such time zone; use a name of the IANA database, such as Europe/Dublin.",
                field: "timeZone")
        }
        return String(text)
    }
}

extension ServiceContext {
    /// The space that a question is about, if the principal may read it.
    ///
    /// - Throws: `forbidden`, `app-not-found`, and as `author(may:_:)`.
    func askedSpace(_ spaces: Spaces) async throws -> Space {
        _ = try author(may: .read, .analytics)
        return try await spaces.space(of: try principal)
    }
}
