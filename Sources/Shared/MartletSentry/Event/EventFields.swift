import MartletCore

/// The members of an event by name, and a list of their errors.
///
/// Checks only the types of values, according to the published schema (getsentry/sentry-data-schemas).
struct EventFields {
    enum Kind {
        case text, object
    }

    static let exception: [(String, Kind)] = [
        ("type", .text), ("value", .text), ("module", .text), ("mechanism", .object), ("stacktrace", .object),
    ]
    static let thread: [(String, Kind)] = [("name", .text), ("stacktrace", .object)]

    private let members: [String: JSONValue]
    private(set) var problems: [String] = []
    /// Members that are not stored because they could not be parsed.
    private(set) var wrong: Set<String> = []

    init(_ value: JSONValue) {
        members = Dictionary(value.looseMembers.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
    }

    func value(_ name: String) -> JSONValue? { members[name].flatMap { $0 == .null ? nil : $0 } }

    mutating func complain(_ path: String, _ what: String) {
        problems.append("\(path) \(what)")
    }

    mutating func text(_ name: String) -> String? {
        guard let value = value(name) else { return nil }
        if let text = value.looseText { return text }
        // Reported once, however often the member is read.
        if name != "message", wrong.insert(name).inserted { complain(name, "is not text") }
        return nil
    }

    mutating func object(_ name: String) -> JSONValue? {
        guard let value = value(name) else { return nil }
        if value.isObject { return value }
        if wrong.insert(name).inserted { complain(name, "is not an object") }
        return nil
    }

    mutating func texts(_ name: String) -> [String] {
        guard let value = value(name) else { return [] }
        if case .array(let elements) = value {
            return elements.prefix(32).compactMap(\.looseText).map { $0.cut(to: 1_000) }
        }
        complain(name, "is not a list")
        wrong.insert(name)
        return []
    }

    /// The objects in a list; elements that are not objects are reported.
    mutating func list(_ name: String, of shape: [(String, Kind)]) -> [JSONValue] {
        guard let value = value(name) else { return [] }
        let elements = value.looseList
        if elements.isEmpty, value.looseText != nil {
            wrong.insert(name)
            complain(name, "is neither a list nor an object")
        }
        for (index, element) in elements.prefix(50).enumerated() {
            guard element.isObject else {
                complain("\(name)[\(index)]", "is not an object")
                continue
            }
            for (member, kind) in shape { check(element[member], kind, at: "\(name)[\(index)].\(member)") }
        }
        return elements.filter(\.isObject)
    }

    private mutating func check(_ value: JSONValue?, _ kind: Kind, at path: String) {
        switch (kind, value) {
        case (_, nil), (_, .null): break
        case (.text, let value?): if value.looseText == nil { complain(path, "is not text") }
        case (.object, let value?): if !value.isObject { complain(path, "is not an object") }
        }
    }
}
