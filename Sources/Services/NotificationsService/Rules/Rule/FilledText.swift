import MartletCore
import MartletMail

/// Texts with placeholders for facts, `{{object.title}}`, and sections, `{{#object.note}}…{{/object.note}}`, which
/// appear only if there is a value.
enum FilledText {
    /// The limit for the value of one placeholder.
    static let maximumCharacters = 1_000

    /// Fills all strings of a JSON value, also in nested objects and lists. Member names do not change.
    ///
    /// - Throws: `TextTemplateError`.
    static func fill(_ json: JSONValue, _ facts: Facts) throws -> JSONValue {
        switch json {
        case .string(let text): .string(try fill(text, facts))
        case .array(let elements): .array(try elements.map { try fill($0, facts) })
        case .object(let members): .object(try members.map { .init($0.name, try fill($0.value, facts)) })
        default: json
        }
    }

    /// - Throws: `TextTemplateError`.
    static func fill(_ text: String, _ facts: Facts) throws -> String {
        guard text.contains("{{") else { return text }
        let names = names(in: text)
        let values = names.reduce(into: [:]) { values, name in values[name] = facts.value(at: name).flatMap(shown) }
        return try TextTemplate(text, names: names).filled(values)
    }

    /// The names between `{{` and `}}`, which are paths in the facts.
    private static func names(in text: String) -> Set<String> {
        var names: Set<String> = []
        var rest = text[...]
        while let start = rest.firstRange(of: "{{"), let end = rest[start.upperBound...].firstRange(of: "}}") {
            let name = rest[start.upperBound..<end.lowerBound].drop { $0 == "#" || $0 == "/" }
            if name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isPart) {
                names.insert(String(name))
            }
            rest = rest[end.upperBound...]
        }
        return names
    }

    private static func isPart(_ part: Substring) -> Bool {
        !part.isEmpty && part.utf8.count <= 128
            && part.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "_" || $0 == "-"
            }
    }

    /// The text for a value; nil if it is empty or null.
    private static func shown(_ value: JSONValue) -> String? {
        let text: String
        switch value {
        case .string(let string): text = string
        case .null: return nil
        default: text = value.text
        }
        guard !text.isEmpty else { return nil }
        return text.count > maximumCharacters ? text.prefix(maximumCharacters - 1) + "…" : text
    }
}
