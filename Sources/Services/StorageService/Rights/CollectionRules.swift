import MartletAPI
import MartletCore
import MartletHTTP

/// An app's rules for a collection. What an absent rule means depends on the space (`SpaceAccess`).
///
/// A grantee is `*`, `authenticated`, a user's id, `role:<name>` or `field:<path>`: any user named by that field of the
/// object, by id, by a pointer, or in a list of these. A `RuleCondition` can take the place of a grantee. An empty list
/// only admits the master key.
struct CollectionRules: Sendable, Equatable {
    enum Operation: String, Sendable, CaseIterable {
        case find, get, count, create, update, delete, addField
    }

    /// The readers and writers of an object created without any; `owner` stands for the user who creates it.
    struct Defaults: Sendable, Equatable {
        var readers: [String]?
        var writers: [String]?
    }

    /// Operation → grantees.
    var rules: [Operation: Grantees]?
    /// Top-level field → the grantees that can see it.
    var hidden: [FieldName: Grantees]?
    var defaults: Defaults?
    /// Fields that clients do not write.
    var presets: FieldPresets?

    /// The rules of a collection that has none.
    static let none = CollectionRules()
    private static let maximumHidden = 50

    init(rules: [Operation: Grantees]? = nil, hidden: [FieldName: Grantees]? = nil, defaults: Defaults? = nil) {
        (self.rules, self.hidden, self.defaults) = (rules, hidden, defaults)
    }

    /// Does not use `Decodable`: its containers compare names as Swift compares strings, so one of two fields whose
    /// names look alike would be lost.
    ///
    /// - Throws: `invalid-body` naming a member that is unknown, occurs twice, or has the wrong type.
    init(_ value: JSONValue) throws {
        let body = try BodyFields(value, ["rules", "hidden", "defaults", "set", "immutable"])
        rules = try Self.lists(body["rules"], "rules")?.reduce(into: [:]) { rules, list in
            guard let operation = Operation(rawValue: list.name) else {
                let known = Operation.allCases.map(\.rawValue).joined(separator: ", ")
                throw ServiceError.unexpectedMember(
                    "rules.\(list.name.prefix(128))", expected: "one of the operations \(known)", found: list.name)
            }
            rules[operation] = list.grantees
        }
        presets = try FieldPresets(body)
        hidden = try Self.lists(body["hidden"], "hidden")?.reduce(into: [:]) { $0[FieldName($1.name)] = $1.grantees }
        guard let value = body["defaults"], value != .null else { return }
        let lists = try naming("defaults") { try BodyFields(value, ["readers", "writers"]) }
        defaults = Defaults(
            readers: try Self.list(lists["readers"], "defaults.readers"),
            writers: try Self.list(lists["writers"], "defaults.writers"))
    }

    private static func lists(_ value: JSONValue?, _ field: String) throws -> [(name: String, grantees: Grantees)]? {
        guard let value, value != .null else { return nil }
        guard case .object(let members) = value else {
            throw ServiceError(
                .invalidBody, "Expected an object of names, each with an array of grantees, found \(value.phrase).",
                field: field)
        }
        guard Set(members.map { FieldName($0.name) }).count == members.count else {
            throw ServiceError(.invalidBody, "A name occurs twice.", field: field)
        }
        return try members.map { member in
            let inner = "\(field).\(member.name.prefix(128))"
            guard let list = try Grantees(member.value, field: inner) else {
                throw ServiceError(.invalidBody, "Expected an array of grantees, found null.", field: inner)
            }
            return (member.name, list)
        }
    }

    /// Nil if absent or null.
    private static func list(_ value: JSONValue?, _ field: String) throws -> [String]? {
        guard let value, value != .null else { return nil }
        guard case .array(let elements) = value else {
            throw ServiceError(
                .invalidBody, "Expected an array of grantees, found \(value.phrase).", field: field)
        }
        return try elements.map { element in
            guard case .string(let name) = element else {
                throw ServiceError(
                    .invalidBody, "Expected an array of strings, found \(element.phrase) in it.", field: field)
            }
            return name
        }
    }

    /// The JSON form that `init` reads.
    var json: JSONValue {
        func list(_ names: [String]) -> JSONValue { .array(names.map { .string($0) }) }
        var members: [JSONValue.Member] = []
        if let defaults {
            let lists = [("readers", defaults.readers), ("writers", defaults.writers)]
            members.append(
                .init("defaults", .object(lists.compactMap { name, names in names.map { .init(name, list($0)) } })))
        }
        if let hidden {
            members.append(
                .init("hidden", .object(hidden.sorted { $0.key < $1.key }.map { .init($0.key.text, $0.value.json) })))
        }
        if let rules {
            members.append(
                .init(
                    "rules",
                    .object(
                        rules.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                            .init($0.key.rawValue, $0.value.json)
                        })))
        }
        return .object(members + (presets?.json ?? []))
    }

    func grantees(_ operation: Operation) -> Grantees? { rules?[operation] }

    /// The same rules with a different one for `operation`; nil removes it.
    func replacing(_ operation: Operation, with grantees: Grantees?) -> CollectionRules {
        var changed = self
        changed.rules = rules ?? [:]
        changed.rules?[operation] = grantees
        return changed
    }

    /// Fields that identify an object's owner: those through which the rules let users change or delete the object.
    /// None if every user may change it.
    var ownerFields: [FieldPath] { changers(\.ownerFields) }

    /// The owner fields, and the fields that name users who may change or delete an object only in some states. Such
    /// users share the object, but do not own it.
    var sharerFields: [FieldPath] { changers { $0.ownerFields + $0.helperFields } }

    private func changers(_ fields: (Grantees) -> [String]) -> [FieldPath] {
        func open(_ names: [String]) -> Bool { names.contains("*") || names.contains("authenticated") }
        guard let changing = grantees(.update), !open(changing.names) else { return [] }
        let deleting = grantees(.delete).flatMap { open($0.names) ? nil : fields($0) } ?? []
        let paths = Set((fields(changing) + deleting).map { FieldName($0) })
        return paths.sorted().compactMap { try? FieldPath($0.text) }
    }

    /// The rules of a collection that only the master key may use.
    static let closed = CollectionRules(
        rules: Dictionary(uniqueKeysWithValues: Operation.allCases.map { ($0, Grantees([])) }))

    /// Every list of grantees with its field name.
    private var granteesByField: [(field: String, grantees: Grantees)] {
        (rules ?? [:]).map { ("rules.\($0.key.rawValue)", $0.value) }
            + (hidden ?? [:]).map { ("hidden.\($0.key.text)", $0.value) }
    }

    /// The collections that conditions read.
    var collections: Set<CollectionName> {
        granteesByField.flatMap(\.grantees.conditions).reduce(into: []) { $0.formUnion($1.collections) }
    }

    var hasConditions: Bool { granteesByField.contains { !$0.grantees.conditions.isEmpty } }

    /// Every list of names with its field name.
    private var lists: [(field: String, names: [String])] {
        granteesByField.map { (field: $0.field, names: $0.grantees.allNames) } + [
            ("defaults.readers", defaults?.readers ?? []), ("defaults.writers", defaults?.writers ?? []),
        ]
    }

    /// Validates the rules on their own.
    ///
    /// - Throws: `invalid-body` naming the field, `limit-exceeded`.
    func check() throws {
        for (operation, grantees) in rules ?? [:] {
            try grantees.check(
                allowing: operation == .addField ? .names : .conditions, field: "rules.\(operation.rawValue)")
        }
        guard (hidden ?? [:]).count <= Self.maximumHidden else {
            throw ServiceError(.limitExceeded, "At most \(Self.maximumHidden) fields may be hidden.", field: "hidden")
        }
        for (name, grantees) in hidden ?? [:] {
            let field = "hidden.\(name.text.prefix(128))"
            guard SystemField(rawValue: name.text) == nil, let path = try? FieldPath(name.text), path.parts.count == 1
            else {
                throw ServiceError(.invalidBody, "Only top-level fields of the document can be hidden.", field: field)
            }
            try grantees.check(allowing: .conditions, field: field)
        }
        for (name, list) in [("readers", defaults?.readers), ("writers", defaults?.writers)] {
            _ = try Grantee.checked((list ?? []).filter { $0 != "owner" }, field: "defaults.\(name)")
        }
        try presets?.check()
    }
}

extension JSONValue {
    /// The same object with one more member.
    func adding(_ name: String, _ value: JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members + [.init(name, value)])
    }
}

// MARK: - Rules that cannot work

extension CollectionRules {
    /// The app's existing fields and roles. Rules that do not fit them would never allow anything.
    struct RuleContext: Sendable {
        /// The fields that the collection's objects have had, with their types.
        var fields: [FieldName: [String]]
        var roles: Set<String>
    }

    /// Every word that could be the name of a role, with or without the prefix `role:`.
    var mentionedRoles: [String] {
        lists.flatMap(\.names).map { $0.hasPrefix("role:") ? String($0.dropFirst(5)) : $0 }.filter(Grantee.isRoleName)
    }

    /// - Throws: `invalid-body` naming the field and suggesting a correction.
    func check(in context: RuleContext) throws {
        for (field, names) in lists {
            for name in names where name != "*" && name != "authenticated" {
                let isDefault = field.hasPrefix("defaults.")
                guard !isDefault || name != "owner",
                    let detail = Self.objection(to: name, isDefault: isDefault, context)
                else { continue }
                throw ServiceError(.invalidBody, detail, field: field)
            }
        }
    }

    private static func objection(to grantee: String, isDefault: Bool, _ context: RuleContext) -> String? {
        if grantee.hasPrefix("role:") {
            let role = String(grantee.dropFirst(5))
            return context.roles.contains(role)
                ? nil : "There is no role \"\(role)\". Create it first, with PUT roles/\(role)."
        }
        if grantee.hasPrefix("field:") { return objection(toPath: String(grantee.dropFirst(6)), context) }
        if grantee == "owner" || context.fields[FieldName(topOf: grantee)] != nil {
            return isDefault
                ? "\"\(grantee)\" is a field, not a user's id. Write \"owner\" for the user who creates the object."
                : "\"\(grantee)\" is a field, not a user's id. Write \"field:\(grantee)\" for the user whom the field names."
        }
        if context.roles.contains(grantee) {
            return "\"\(grantee)\" is a role, not a user's id. Write \"role:\(grantee)\"."
        }
        return nil
    }

    private static func objection(toPath path: String, _ context: RuleContext) -> String? {
        let top = FieldName(topOf: path)
        guard SystemField(rawValue: top.text) == nil else {
            return "\"\(top.text)\" is maintained by the server. Name a field of the document that holds the user's id."
        }
        guard let types = context.fields[top], !types.isEmpty else { return nil }
        let held = types.joined(separator: ", ")
        guard path.holds(".") else {
            let canName = types.contains { $0 == "String" || $0.hasPrefix("Pointer<") || $0.hasPrefix("Array") }
            return canName
                ? nil
                : "The field \"\(path)\" holds \(held). Name a field that holds a user's id, a pointer to a user, or a list of these."
        }
        guard !types.contains("Object") else { return nil }
        guard types.contains(where: { $0.hasPrefix("Pointer<") }) else {
            return
                "The field \"\(top.text)\" holds \(held), which has no fields inside. Name a field that holds a user's id."
        }
        return """
            The field \"\(top.text)\" holds \(held), and a rule's path does not go through pointers. Keep the user's id in a field of \
            the object itself, or write \"field:\(top.text)\" for the user to whom it points.
            """
    }
}
