import MartletAPI
import MartletCore
import MartletMail

/// The content of a message with placeholders `{{name}}` and sections `{{#name}}…{{/name}}` in any of its texts.
struct MessageTemplate: Sendable, Equatable {
    static let maximumVariables = 50
    /// The limit for a value, in bytes.
    static let maximumValueLength = 4_096
    /// The limit for all filled texts, in bytes. Push services accept far less.
    static let maximumFilledSize = 1 << 20

    /// The `MessageContent` with unfilled placeholders.
    let json: JSONValue
    /// The required variables. Those used only by sections are optional.
    let variables: [String]

    /// - Throws: `invalid-body` when the JSON is not a template, or not valid content once filled.
    init(_ json: JSONValue) throws {
        self.json = json
        let variables = try json.templates.reduce(into: Set<String>()) { $0.formUnion($1.missing([])) }
        guard variables.count <= Self.maximumVariables else {
            throw ServiceError(
                .invalidBody, "A template may have at most \(Self.maximumVariables) variables.", field: "content")
        }
        self.variables = variables.sorted()
        // Fill the placeholders with sample values: the result must be a valid message.
        try MessageContent(try json.filled(Dictionary(uniqueKeysWithValues: variables.map { ($0, "1") }))).check()
    }

    /// Creates a stored template, which was validated before.
    init(stored json: JSONValue, variables: [String]) {
        self.json = json
        self.variables = variables
    }

    /// All names used by placeholders and sections.
    var names: Set<String> {
        get throws { try json.templates.reduce(into: []) { $0.formUnion($1.names) } }
    }

    /// The content with its placeholders filled. Does not check the limits of push services.
    ///
    /// - Throws: `invalid-body` that names a variable without a value, or when the result is far too large.
    func content(_ values: [String: String]) throws -> MessageContent {
        if let missing = variables.first(where: { values[$0] == nil }) {
            throw ServiceError(
                .invalidBody, "The template needs a value for \(missing).", field: "variables.\(missing)")
        }
        guard try json.templates.reduce(0, { $0 + $1.filledSize(values) }) <= Self.maximumFilledSize else {
            throw ServiceError(
                .invalidBody, "The content with its values may have at most \(Self.maximumFilledSize) bytes.",
                field: "variables")
        }
        return try MessageContent(try json.filled(values))
    }

    /// The values of a request or a rule: strings, numbers and booleans; null is ignored.
    ///
    /// - Throws: `invalid-body`.
    static func values(_ json: JSONValue?) throws -> [String: String] {
        guard let json, json != .null else { return [:] }
        guard case .object(let members) = json, members.count <= maximumVariables else {
            throw ServiceError(
                .invalidBody, "Expected an object of at most \(maximumVariables) values.", field: "variables")
        }
        var values: [String: String] = [:]
        for member in members {
            let field = "variables.\(member.name.prefix(64))"
            guard TextTemplate.isName(member.name) else {
                throw ServiceError(
                    .invalidBody, "A variable name must be a letter, followed by letters, digits and underscores.",
                    field: field)
            }
            switch member.value {
            case .null: continue
            case .string(let text): values[member.name] = text
            case .number(let literal): values[member.name] = literal
            case .bool(let truth): values[member.name] = truth ? "true" : "false"
            case .array, .object:
                throw ServiceError(
                    .invalidBody, "Expected a string, a number, true or false, found \(member.value.phrase).",
                    field: field)
            }
            guard values[member.name]?.utf8.count ?? 0 <= maximumValueLength else {
                throw ServiceError(.invalidBody, "A value may have at most \(maximumValueLength) bytes.", field: field)
            }
        }
        return values
    }
}

extension JSONValue {
    /// The templates among its strings.
    fileprivate var templates: [TextTemplate] {
        get throws {
            switch self {
            case .string(let text): text.contains("{{") ? [try TextTemplate(checking: text)] : []
            case .array(let elements): try elements.flatMap { try $0.templates }
            case .object(let members): try members.flatMap { try $0.value.templates }
            case .null, .bool, .number: []
            }
        }
    }

    /// Fills the placeholders of all its strings.
    func filled(_ values: [String: String]) throws -> JSONValue {
        switch self {
        case .string(let text): text.contains("{{") ? .string(try TextTemplate(checking: text).filled(values)) : self
        case .array(let elements): .array(try elements.map { try $0.filled(values) })
        case .object(let members): .object(try members.map { .init($0.name, try $0.value.filled(values)) })
        case .null, .bool, .number: self
        }
    }
}

extension TextTemplate {
    fileprivate init(checking text: String) throws {
        do {
            try self.init(text, names: nil)
        } catch {
            throw ServiceError(.invalidBody, error.sentence, field: "content")
        }
    }
}
