import MartletAPI
import MartletCore

/// A location in a document (JSON Pointer, RFC 6901).
struct DocumentPlace: Sendable {
    let text: String

    static let root = DocumentPlace(text: "")

    static func / (place: DocumentPlace, name: String) -> DocumentPlace {
        DocumentPlace(text: place.text + "/" + JSONPointer.escape(name))
    }

    static func / (place: DocumentPlace, index: Int) -> DocumentPlace { DocumentPlace(text: place.text + "/\(index)") }
}

/// Collects the findings about a document and offers common checks of its values.
struct Findings: Sendable {
    static let maximum = 1_000

    private(set) var list: [Finding] = []
    private var hasErrors = false

    mutating func error(_ code: String, at place: DocumentPlace, _ message: String) {
        add(Finding(.error, code, at: place.text, message))
    }

    mutating func warning(_ code: String, at place: DocumentPlace, _ message: String) {
        add(Finding(.warning, code, at: place.text, message))
    }

    mutating func add(_ finding: Finding) {
        // The first error is kept even if warnings have filled the list.
        let isFirstError = finding.severity == .error && !hasErrors
        if list.count < Self.maximum || isFirstError { list.append(finding) }
        hasErrors = hasErrors || finding.severity == .error
    }

    /// The members of an object, reporting unknown ones; empty if the value is not an object.
    mutating func members(
        _ value: JSONValue, at place: DocumentPlace, known: Set<String>? = nil, upTo limit: Int = 1_000
    ) -> [JSONValue.Member] {
        guard let members = value.members else {
            error("wrong-type", at: place, "Expected an object, found \(value.phrase).")
            return []
        }
        guard members.count <= limit else {
            error("too-many", at: place, "Expected at most \(limit) members, found \(members.count).")
            return []
        }
        for member in members {
            guard let known, !known.contains(member.name) else { continue }
            error(
                "unknown-member", at: place / member.name,
                "This member is unknown." + NearMiss.question(for: member.name, among: known))
        }
        return members
    }

    /// The elements of a list; empty if the value is not a list.
    mutating func elements(_ value: JSONValue, at place: DocumentPlace, upTo limit: Int) -> [JSONValue] {
        guard let elements = value.elements else {
            error("wrong-type", at: place, "Expected an array, found \(value.phrase).")
            return []
        }
        guard elements.count <= limit else {
            error("too-many", at: place, "Expected at most \(limit) elements, found \(elements.count).")
            return []
        }
        return elements
    }

    /// The text. Nil, with a finding, if the value is not a string, has control characters, or does not have `minimum`
    /// to `limit` characters (Unicode scalars).
    mutating func text(_ value: JSONValue?, at place: DocumentPlace, from minimum: Int = 1, upTo limit: Int = 200)
        -> String?
    {
        guard let value, value != .null || minimum == 0 else {
            error("required", at: place, "This is required.")
            return nil
        }
        guard let text = value.string else {
            error("wrong-type", at: place, "Expected a string, found \(value.phrase).")
            return nil
        }
        let count = text.unicodeScalars.count
        let hasControls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (minimum...limit).contains(count), !hasControls else {
            error(
                "out-of-range", at: place,
                "Expected \(minimum) to \(limit) characters without control characters, found "
                    + (hasControls ? "a control character." : "\(count)."))
            return nil
        }
        return text
    }
}
