import MartletAPI
import MartletCore

extension CollectionRules {
    /// Validates every condition by compiling it.
    ///
    /// - Throws: as `FilterCompiler`, naming the field, and `invalid-body` for a collection that does not exist.
    func checkConditions(at place: RulePlace) throws {
        try eachCondition { condition, states, field in
            if let limits = condition.limits {
                guard states == .updated else {
                    throw ServiceError(
                        .invalidBody, "Only a rule for update can have \"fields\" and \"operations\".", field: field)
                }
                try naming(field) {
                    try limits.check(place.context(of: condition, for: .user("u", roles: []), states))
                }
            }
            let filter = try naming("\(field).where") {
                // A user without roles: the text of a condition does not depend on the user.
                let filter = try place.compiled(condition, for: .user("u", roles: []), states)
                guard !filter.isCostly else {
                    throw ServiceError(.invalidFilter, "A $regex in a rule must consist of ^ and plain text.")
                }
                return filter
            }
            if let missing = place.missing(filter) {
                throw ServiceError(
                    .invalidBody, "There is no collection \"\(missing.text)\". Create it first.", field: field)
            }
        }
    }

    /// The same rules, in which every entry says to which collections its Pointers point, so that no Pointer written
    /// later leads elsewhere.
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
        for name in Self.names(in: condition.filter) where name.holds(".") {
            try add(name, of: collection.text, isDeclared: condition.through != nil, to: &hops)
        }
        try checkNested(condition.filter, of: collection.text, isDeclared: condition.through != nil)
        guard hops.count <= FilterCompiler.maximumSubqueries else {
            throw ServiceError(
                .limitExceeded, "At most \(FilterCompiler.maximumSubqueries) Pointers may be in \"through\".")
        }
        return hops.isEmpty && condition.through == nil ? condition : condition.through(hops)
    }

    /// The names of fields outside queries.
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

    /// Refuses Pointers in dotted names where none is followed: in queries, and in `$old.` and `$new.` as values.
    ///
    /// - Throws: `invalid-body` naming the path.
    private func checkNested(_ value: JSONValue, of collection: String, isDeclared: Bool) throws {
        switch value {
        case .null, .bool, .number: break
        case .string(let text):
            if let (_, path) = RuleVariable.state(text) { try checkNested(path, of: collection, isDeclared) }
        case .array(let elements):
            for element in elements { try checkNested(element, of: collection, isDeclared: isDeclared) }
        case .object(let members):
            for member in members {
                if case .string(let other)? = member.query?["className"] {
                    let filter = member.query?["where"] ?? .object([])
                    for name in Self.names(in: filter) { try checkNested(name, of: other, isDeclared) }
                    try checkNested(filter, of: other, isDeclared: isDeclared)
                    if case .string(let key)? = member.value["key"] { try checkNested(key, of: other, isDeclared) }
                } else {
                    try checkNested(member.value, of: collection, isDeclared: isDeclared)
                }
            }
        }
    }

    private func checkNested(_ path: String, of collection: String, _ isDeclared: Bool) throws {
        guard path.holds("."), try pointer(path, of: collection, isDeclared: isDeclared, path) != nil else { return }
        throw ServiceError(
            .invalidBody,
            """
            "\(FieldName(topOf: path).text)" is a Pointer, which a rule does not follow in queries or values. Use $inQuery, \
            or a dotted name outside of queries.
            """, field: path)
    }

    private func add(
        _ name: String, of collection: String, isDeclared: Bool, to hops: inout [RuleCondition.Hop]
    ) throws {
        var (collection, start, rest) = (collection, "", name)
        while rest.holds(".") {
            let known = hops.filter { $0.path.hasPrefix(start) && name.hasPrefix($0.path + ".") }
                .min { $0.path.utf8.count < $1.path.utf8.count }
            if known == nil, let found = try pointer(rest, of: collection, isDeclared: isDeclared, name) {
                hops.append(.init(path: start + FieldName(topOf: rest).text, collection: found))
            } else if known == nil {
                return
            }
            guard let hop = known ?? hops.last else { return }
            (collection, start) = (hop.collection.text, hop.path + ".")
            rest = String(name.dropFirst(start.count))
        }
    }

    /// The collection to which the first field of a dotted name points; nil if it has nested fields instead.
    private func pointer(
        _ rest: String, of collection: String, isDeclared: Bool, _ name: String
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
                Add "through":{"\(top.text)":"<collection>"} for a Pointer, or "through":{} for a nested field.
                """, field: name)
        }
        return try CollectionName(String(only))
    }
}
