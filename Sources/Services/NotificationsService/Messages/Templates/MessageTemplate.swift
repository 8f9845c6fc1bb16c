import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// A message's content with places for variables, `{{name}}` and `{{#name}}…{{/name}}`, in any of its texts.
struct MessageTemplate: Sendable, Equatable {
    static let maximumVariables = 50
    /// Bytes of a value.
    static let maximumValueLength = 4_096
    /// Bytes of all texts with their values; what a push service takes is far less.
    static let maximumFilledSize = 1 << 20

    /// `MessageContent`, its places not yet filled.
    let json: JSONValue
    /// That must have a value; those that only sections ask for may have none.
    let variables: [String]

    /// - Throws: `invalid-body` for what is no template, or no content once it is filled.
    init(_ json: JSONValue) throws {
        self.json = json
        let variables = try json.templates.reduce(into: Set<String>()) { $0.formUnion($1.missing([])) }
        guard variables.count <= Self.maximumVariables else {
            throw HTTPProblem(
                .invalidBody, "A template has at most \(Self.maximumVariables) variables.", field: "content")
        }
        self.variables = variables.sorted()
        // Filled with something, it must be a message.
        try MessageContent(try json.filled(Dictionary(uniqueKeysWithValues: variables.map { ($0, "1") }))).check()
    }

    /// One that is stored.
    init(stored json: JSONValue, variables: [String]) {
        self.json = json
        self.variables = variables
    }

    /// All names that its texts have a place or a section for.
    var names: Set<String> {
        get throws { try json.templates.reduce(into: []) { $0.formUnion($1.names) } }
    }

    /// The content with its places filled. Whether a push service takes so much is not looked at.
    ///
    /// - Throws: `invalid-body` naming a variable without a value, or for what is far too large.
    func content(_ values: [String: String]) throws -> MessageContent {
        if let missing = variables.first(where: { values[$0] == nil }) {
            throw HTTPProblem(.invalidBody, "The template needs a value for \(missing).", field: "variables.\(missing)")
        }
        guard try json.templates.reduce(0, { $0 + $1.filledSize(values) }) <= Self.maximumFilledSize else {
            throw HTTPProblem(
                .invalidBody, "With its values the content has at most \(Self.maximumFilledSize) bytes.",
                field: "variables")
        }
        return try MessageContent(try json.filled(values))
    }

    /// Values as a request or a rule gives them: strings, numbers, true and false; null is none.
    ///
    /// - Throws: `invalid-body`.
    static func values(_ json: JSONValue?) throws -> [String: String] {
        guard let json, json != .null else { return [:] }
        guard case .object(let members) = json, members.count <= maximumVariables else {
            throw HTTPProblem(
                .invalidBody, "This must be an object of at most \(maximumVariables) values.", field: "variables")
        }
        var values: [String: String] = [:]
        for member in members {
            let field = "variables.\(member.name.prefix(64))"
            guard TextTemplate.isName(member.name) else {
                throw HTTPProblem(.invalidBody, "A variable's name is a letter, then letters and digits.", field: field)
            }
            switch member.value {
            case .null: continue
            case .string(let text): values[member.name] = text
            case .number(let literal): values[member.name] = literal
            case .bool(let truth): values[member.name] = truth ? "true" : "false"
            case .array, .object:
                throw HTTPProblem(.invalidBody, "This must be a string, a number, true or false.", field: field)
            }
            guard values[member.name]?.utf8.count ?? 0 <= maximumValueLength else {
                throw HTTPProblem(.invalidBody, "A value has at most \(maximumValueLength) bytes.", field: field)
            }
        }
        return values
    }
}

extension JSONValue {
    /// What its strings have places in.
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

    /// With values in the places of all its strings.
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
            throw HTTPProblem(.invalidBody, error.sentence, field: "content")
        }
    }
}
