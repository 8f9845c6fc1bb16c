import MartletAPI
import MartletCore

extension CollectionRules {
    /// Validates every condition by compiling it.
    ///
    /// - Throws: as `FilterCompiler`, naming the field, and `invalid-body` for a collection that does not exist.
    func checkConditions(in ruleScope: RuleScope) throws {
        try eachCondition { condition, states, field in
            if let limits = condition.limits {
                guard states == .updated else {
                    throw ServiceError(
                        .invalidBody, "Only a rule for update can have \"fields\" and \"operations\".", field: field)
                }
                try naming(field) {
                    try limits.check(ruleScope.context(of: condition, for: .user("u", roles: []), states))
                }
            }
            let filter = try naming("\(field).where") {
                // A user without roles: the text of a condition does not depend on the user.
                let filter = try ruleScope.compiled(condition, for: .user("u", roles: []), states)
                guard !filter.isCostly else {
                    throw ServiceError(.invalidFilter, "A $regex in a rule must consist of ^ and plain text.")
                }
                return filter
            }
            if let missing = ruleScope.missing(filter) {
                throw ServiceError(
                    .invalidBody, "There is no collection \"\(missing.text)\". Create it first.", field: field)
            }
        }
    }

    /// The same rules, with the collection of every Pointer in a condition. Pointers written later cannot lead to
    /// another collection then.
    ///
    /// - Parameter fields: The types of each collection's fields.
    /// - Throws: `invalid-body` naming a path whose collection is not known.
    func resolvingPointers(
        of collection: CollectionName, _ fields: [String: [FieldName: [String]]]
    ) throws -> CollectionRules {
        var resolved = self
        for (operation, grantees) in rules ?? [:] {
            resolved.rules?[operation] = try Self.resolving(
                grantees, "rules.\(operation.rawValue)", collection, fields)
        }
        for (name, grantees) in hidden ?? [:] {
            resolved.hidden?[name] = try Self.resolving(grantees, "hidden.\(name.text)", collection, fields)
        }
        return resolved
    }

    private static func resolving(
        _ grantees: Grantees, _ field: String, _ collection: CollectionName, _ fields: [String: [FieldName: [String]]]
    ) throws -> Grantees {
        Grantees(
            try grantees.entries.map { entry in
                guard case .condition(let condition) = entry else { return entry }
                return try naming("\(field).\(condition.number).where") {
                    .condition(try PointerPaths(fields: fields).resolved(condition, of: collection))
                }
            })
    }

    private func eachCondition(_ body: (RuleCondition, ConditionContext.States, String) throws -> Void) throws {
        for (operation, grantees) in (rules ?? [:]).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for condition in grantees.conditions {
                try body(condition, operation.states, "rules.\(operation.rawValue).\(condition.number)")
            }
        }
        for (name, grantees) in (hidden ?? [:]).sorted(by: { $0.key < $1.key }) {
            for condition in grantees.conditions {
                try body(condition, .one, "hidden.\(name.text).\(condition.number)")
            }
        }
    }
}

/// Finds the Pointers in the dotted names of a rule's filter, by the types that fields have had.
private struct PointerPaths {
    let fields: [String: [FieldName: [String]]]

    func resolved(_ condition: RuleCondition, of collection: CollectionName) throws -> RuleCondition {
        var hops = condition.through ?? []
        let isDeclared = condition.through != nil
        for name in Self.names(in: condition.filter) {
            try add(name, of: collection.text, inQueryOf: nil, isDeclared: isDeclared, to: &hops)
        }
        try addNested(condition.filter, of: collection.text, isDeclared: isDeclared, to: &hops)
        guard hops.count <= FilterCompiler.maximumSubqueries else {
            throw ServiceError(
                .limitExceeded, "At most \(FilterCompiler.maximumSubqueries) Pointers may be in \"through\".")
        }
        return hops.isEmpty && condition.through == nil ? condition : condition.through(hops)
    }

    /// The names of fields outside queries inside the filter.
    private static func names(in filter: JSONValue) -> [String] {
        guard case .object(let members) = filter else { return [] }
        return members.flatMap { member -> [String] in
            if let (_, rest) = RuleVariable.state(member.name) { return [rest] }
            guard member.name.begins(with: "$") else { return [member.name] }
            guard RuleVariable.profilePath(member.name) == nil else { return [] }
            guard case .array(let filters) = member.value else { return [] }
            return filters.flatMap(names)
        }
    }

    /// Adds the Pointers in queries, and refuses those that are not followed: in a query's key, and in `$old.` and
    /// `$new.` as values.
    ///
    /// - Throws: `invalid-body` naming the path.
    private func addNested(
        _ value: JSONValue, of collection: String, isDeclared: Bool, to hops: inout [RuleCondition.Hop]
    ) throws {
        switch value {
        case .null, .bool, .number: break
        case .string(let text):
            if let (_, path) = RuleVariable.state(text) { try refuse(path, of: collection, isDeclared) }
        case .array(let elements):
            for element in elements { try addNested(element, of: collection, isDeclared: isDeclared, to: &hops) }
        case .object(let members):
            for member in members {
                guard case .string(let other)? = member.query?["className"] else {
                    try addNested(member.value, of: collection, isDeclared: isDeclared, to: &hops)
                    continue
                }
                let filter = member.query?["where"] ?? .object([])
                for name in Self.names(in: filter) {
                    let query = try? CollectionName(other)
                    try add(name, of: other, inQueryOf: query, isDeclared: isDeclared, to: &hops)
                }
                try addNested(filter, of: other, isDeclared: isDeclared, to: &hops)
                if case .string(let key)? = member.value["key"] { try refuse(key, of: other, isDeclared) }
            }
        }
    }

    private func refuse(_ path: String, of collection: String, _ isDeclared: Bool) throws {
        let top = FieldName(topOf: path).text
        guard path.holds("."), try pointer(path, of: collection, isDeclared: isDeclared, path, top) != nil else {
            return
        }
        throw ServiceError(
            .invalidBody,
            """
            "\(top)" is a Pointer, which a rule does not follow in the key of a query or in the \
            value of $old or $new. Use the dotted name as the name of a field, or $inQuery.
            """, field: path)
    }

    private func add(
        _ name: String, of collection: String, inQueryOf query: CollectionName?, isDeclared: Bool,
        to hops: inout [RuleCondition.Hop]
    ) throws {
        var (collection, start, rest) = (collection, "", name)
        while rest.holds(".") {
            let known = hops.filter {
                $0.query == query && $0.path.hasPrefix(start) && name.hasPrefix($0.path + ".")
            }.min { $0.path.utf8.count < $1.path.utf8.count }
            let place = RuleCondition.Hop.name(start + FieldName(topOf: rest).text, query)
            if known == nil, let found = try pointer(rest, of: collection, isDeclared: isDeclared, name, place) {
                hops.append(.init(path: start + FieldName(topOf: rest).text, collection: found, query: query))
            } else if known == nil {
                return
            }
            guard let hop = known ?? hops.last else { return }
            (collection, start) = (hop.collection.text, hop.path + ".")
            rest = String(name.dropFirst(start.count))
        }
    }

    /// The collection to which the first field of a dotted name points; nil if it has nested fields instead.
    ///
    /// - Parameter place: The name of the Pointer in `through`.
    private func pointer(
        _ rest: String, of collection: String, isDeclared: Bool, _ name: String, _ place: String
    ) throws -> CollectionName? {
        let top = FieldName(topOf: rest)
        let types = fields[collection]?[top] ?? []
        let pointers = types.filter { $0.hasPrefix("Pointer<") || $0.hasPrefix("Array<Pointer<") }
        if pointers.isEmpty, isDeclared || !types.isEmpty || SystemField(rawValue: top.text) != nil { return nil }
        let names = Set(pointers.flatMap { $0.split(separator: "<").dropFirst().map { $0.prefix { $0 != ">" } } })
            .filter { $0 != "Pointer" }
        guard names.count == 1, !types.contains("Object"), let only = names.first else {
            throw ServiceError(
                .invalidBody,
                """
                It is not known where "\(top.text)" leads: objects have \(types.isEmpty ? "not had this field" : types.joined(separator: ", ")). \
                Add "through":{"\(place)":"<collection>"} for a Pointer, or "through":{} for a nested field.
                """, field: name)
        }
        return try CollectionName(String(only))
    }
}
