import MartletAPI
import MartletCore

/// Who may do something: names, and entries that also have a condition on the object. A caller needs to match only one.
struct Grantees: Sendable, Equatable {
    enum Entry: Sendable, Equatable {
        case name(String)
        case condition(RuleCondition)
    }

    static let maximumConditions = 10

    let entries: [Entry]
    let names: [String]
    let conditions: [RuleCondition]

    init(_ entries: [Entry]) {
        self.entries = entries
        names = entries.compactMap { if case .name(let name) = $0 { name } else { nil } }
        conditions = entries.compactMap { if case .condition(let condition) = $0 { condition } else { nil } }
    }

    /// Nil if absent or null.
    ///
    /// - Throws: `invalid-body` naming `field` or a field in it.
    init?(_ value: JSONValue?, field: String) throws {
        guard let value, value != .null else { return nil }
        guard case .array(let elements) = value else {
            throw ServiceError(
                .invalidBody, "Expected an array of grantees, found \(value.phrase).", field: field)
        }
        self.init(
            try elements.enumerated().map { number, element in
                switch element {
                case .string(let name): return .name(name)
                case .object:
                    return try naming("\(field).\(number)") {
                        .condition(try RuleCondition(element, number: number))
                    }
                default:
                    throw ServiceError(
                        .invalidBody,
                        "Expected names, or objects with \"who\" and \"where\", found \(element.phrase).",
                        field: field)
                }
            })
    }

    /// The object's fields that name its owners: users who may change the whole object in every state, or whom a
    /// condition requires in the field (`{"owner":"$user.id"}`).
    var ownerFields: [String] {
        let unlimited = conditions.filter { $0.limits == nil }
        let who = names + unlimited.filter { $0.filter == .object([]) }.flatMap(\.who)
        return Self.fields(who) + unlimited.flatMap(\.userFields)
    }

    /// The object's fields that name users who may change the whole object, but only in some states.
    var helperFields: [String] {
        Self.fields(conditions.filter { $0.limits == nil && $0.filter != .object([]) }.flatMap(\.who))
    }

    private static func fields(_ names: [String]) -> [String] {
        names.filter { $0.hasPrefix("field:") }.map { String($0.dropFirst(6)) }
    }

    /// Every name, including those in entries with conditions.
    var allNames: [String] { names + conditions.flatMap(\.who) }

    var json: JSONValue {
        .array(
            entries.map { entry in
                switch entry {
                case .name(let name): .string(name)
                case .condition(let condition): condition.json
                }
            })
    }

    /// Validates everything that does not depend on the app.
    ///
    /// - Throws: `invalid-body` naming the field, `limit-exceeded`.
    func check(allowing: Allowed, field: String) throws {
        guard entries.count <= Grantee.maximumListed else {
            throw ServiceError(
                .limitExceeded, "A list may have at most \(Grantee.maximumListed) entries.", field: field)
        }
        guard conditions.count <= Self.maximumConditions else {
            throw ServiceError(
                .limitExceeded, "A list may have at most \(Self.maximumConditions) entries with conditions.",
                field: field)
        }
        guard allowing != .names || conditions.isEmpty else {
            throw ServiceError(.invalidBody, "Only names are allowed here, because there is no object.", field: field)
        }
        try Self.check(names, allowing, field: field)
        for condition in conditions {
            try Self.check(condition.who, allowing, field: "\(field).\(condition.number).who")
        }
    }

    /// What a list may contain: only names, or also fields and conditions.
    enum Allowed { case names, conditions }

    private static func check(_ names: [String], _ allowing: Allowed, field: String) throws {
        guard names.count <= Grantee.maximumListed else {
            throw ServiceError(
                .limitExceeded, "A list may have at most \(Grantee.maximumListed) entries.", field: field)
        }
        for name in names where name != "*" && name != "authenticated" && !Grantee.isUserOrRole(name) {
            guard allowing == .conditions, name.hasPrefix("field:"), (try? FieldPath(String(name.dropFirst(6)))) != nil
            else {
                throw ServiceError(
                    .invalidBody,
                    "A grantee must be \"*\", \"authenticated\", a user's id, \"role:<name>\" or \"field:<path>\".",
                    field: field)
            }
        }
    }
}
