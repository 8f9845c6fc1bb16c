import MartletAPI
import MartletHTTP

/// Text with values in it: `{{name}}`, and `{{#name}}…{{/name}}` around what is there only when there is such a value.
///
/// Not a template engine: what an app's server writes must neither loop nor reach anything, and a name that is misspelt must not be an empty
/// place in a mail.
struct TextTemplate: Sendable, Equatable {
    private enum Piece: Sendable, Equatable {
        case text(String)
        case value(String)
        case section(String, [Piece])
    }

    private let pieces: [Piece]

    /// - Parameter names: that it may use.
    /// - Throws: `TextTemplateError`.
    init(_ text: String, names: Set<String>) throws(TextTemplateError) {
        var pieces: [Piece] = []
        var open: (name: String, before: [Piece])?
        var rest = Substring(text)
        while let start = rest.firstRange(of: "{{") {
            if start.lowerBound > rest.startIndex { pieces.append(.text(String(rest[..<start.lowerBound]))) }
            guard let end = rest[start.upperBound...].firstRange(of: "}}") else { throw TextTemplateError("There is {{ without }}.") }
            let tag = rest[start.upperBound..<end.lowerBound]
            let name = String(tag.drop { $0 == "#" || $0 == "/" })
            guard names.contains(name), tag.count <= name.count + 1 else {
                throw TextTemplateError("There is no {{\(tag.prefix(40))}} here, only \(names.sorted().joined(separator: ", ")).")
            }
            switch (tag.first, open) {
            case ("#", nil):
                open = (name, pieces)
                pieces = []
            case ("#", _): throw TextTemplateError("{{#…}} stands within no other.")
            case ("/", let section?) where section.name == name:
                pieces = section.before + [.section(name, pieces)]
                open = nil
            case ("/", _): throw TextTemplateError("{{/\(name)}} ends nothing.")
            default: pieces.append(.value(name))
            }
            rest = rest[end.upperBound...]
        }
        if let open { throw TextTemplateError("{{#\(open.name)}} does not end.") }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
    }

    /// - Parameter escape: what becomes of each value.
    func filled(_ values: [String: String], escape: (String) -> String = { $0 }) -> String {
        Self.fill(pieces, values, escape)
    }

    private static func fill(_ pieces: [Piece], _ values: [String: String], _ escape: (String) -> String) -> String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .text(let literal): text += literal
            case .value(let name): text += values[name].map(escape) ?? ""
            case .section(let name, let inner): if values[name] != nil { text += fill(inner, values, escape) }
            }
        }
    }
}

struct TextTemplateError: Error {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

/// Subject and body of one kind of mail in one language.
struct MailTemplate: Sendable, Equatable {
    /// Characters.
    static let maximumSubjectLength = 200
    /// Bytes, of each body.
    static let maximumBodySize = 24 << 10

    let subject: TextTemplate
    let text: TextTemplate
    let html: TextTemplate?

    /// - Throws: `invalid-body` naming the field.
    init(_ kind: MailKind, subject: String, text: String, html: String?) throws {
        func part(_ source: String, _ field: String) throws -> TextTemplate {
            do {
                return try TextTemplate(source, names: kind.values)
            } catch {
                throw HTTPProblem(.invalidBody, error.sentence, field: field)
            }
        }
        guard (1...Self.maximumSubjectLength).contains(subject.count) else {
            throw HTTPProblem(.invalidBody, "A subject has 1 to \(Self.maximumSubjectLength) characters.", field: "subject")
        }
        for (body, field) in [(text, "text"), (html ?? "-", "html")] where !(1...Self.maximumBodySize).contains(body.utf8.count) {
            throw HTTPProblem(.invalidBody, "A body has 1 to \(Self.maximumBodySize) bytes.", field: field)
        }
        self.subject = try part(subject, "subject")
        self.text = try part(text, "text")
        self.html = try html.map { try part($0, "html") }
        // Whoever reads it must be able to do what it is for, also where the app has no link.
        guard kind.hasProof else { return }
        for (part, field) in [(self.text, "text"), (self.html, "html")] where part?.filled(["code": "\u{1}"]).contains("\u{1}") == false {
            throw HTTPProblem(.invalidBody, "The mail must have {{code}} in it, outside of {{#link}}.", field: field)
        }
    }

    struct Filled: Sendable, Equatable {
        var subject: String
        var text: String
        var html: String?
    }

    func filled(_ values: [String: String]) -> Filled {
        Filled(subject: subject.filled(values), text: text.filled(values), html: html?.filled(values, escape: Self.escapeHTML))
    }

    /// For text and for attributes in quotes.
    private static func escapeHTML(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
            .replacing("'", with: "&#39;")
    }
}
