import MartletAPI
import MartletCore
import MartletHTTP

/// The subject and body of a mail in one language, with placeholders.
public struct MailTemplate: Sendable, Equatable {
    /// In characters.
    public static let maximumSubjectLength = 200

    public let subject: TextTemplate
    public let text: TextTemplate
    public let html: TextTemplate?

    /// - Parameters:
    ///   - names: The placeholders that the template may use; nil allows any.
    ///   - maximumBodySize: The limit for each body, in bytes.
    /// - Throws: `invalid-body` that names the field.
    public init(subject: String, text: String, html: String?, names: Set<String>?, maximumBodySize: Int) throws {
        func part(_ source: String, _ field: String) throws -> TextTemplate {
            do {
                return try TextTemplate(source, names: names)
            } catch {
                throw ServiceError(.invalidBody, error.sentence, field: field)
            }
        }
        guard (1...Self.maximumSubjectLength).contains(subject.count) else {
            throw ServiceError(
                .invalidBody, "The subject must have 1 to \(Self.maximumSubjectLength) characters.", field: "subject")
        }
        for (body, field) in [(text, "text"), (html ?? "-", "html")]
        where !(1...maximumBodySize).contains(body.utf8.count) {
            throw ServiceError(.invalidBody, "The body must have 1 to \(maximumBodySize) bytes.", field: field)
        }
        self.subject = try part(subject, "subject")
        self.text = try part(text, "text")
        self.html = try html.map { try part($0, "html") }
    }

    public struct Filled: Sendable, Equatable {
        public var subject: String
        public var text: String
        public var html: String?
    }

    public func filled(_ values: [String: String]) -> Filled {
        Filled(
            subject: subject.filled(values), text: text.filled(values),
            html: html?.filled(values) { HTML(escaping: $0).text })
    }

    /// The total size of all parts in bytes; see `TextTemplate.filledSize(_:)`.
    public func filledSize(_ values: [String: String]) -> Int {
        subject.filledSize(values) + text.filledSize(values) + (html?.filledSize(values) ?? 0)
    }

    /// See `TextTemplate.missing(_:)`.
    public func missing(_ values: Set<String>) -> Set<String> {
        subject.missing(values).union(text.missing(values)).union(html?.missing(values) ?? [])
    }
}
