import MartletCore

/// Reads the parts of schemas from which source code is generated.
enum SchemaText {
    static func members(_ value: JSONValue?) -> [JSONValue.Member] {
        if case .object(let members) = value { members } else { [] }
    }

    /// The strings of a keyword whose value is one string or a list.
    static func strings(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let elements): elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
        default: []
        }
    }

    /// The schema with the keywords of the definition that it refers to.
    static func resolved(_ schema: JSONValue, in definitions: JSONValue) -> JSONValue {
        guard let name = SchemaCompiler.definitionName(in: schema), let definition = definitions[name] else {
            return schema
        }
        let own = members(schema).filter { $0.name != "$ref" }
        let others = members(resolved(definition, in: definitions)).filter { schema[$0.name] == nil }
        return .object(own + others)
    }

    /// The lines of the title and the description, separated by an empty line.
    static func comment(of schema: JSONValue) -> [String] {
        let paragraphs = ["title", "description"].flatMap { strings(schema[$0]) }.map {
            $0.split(whereSeparator: \.isNewline).map(String.init)
        }
        return Array(paragraphs.joined(separator: [""]))
    }
}
