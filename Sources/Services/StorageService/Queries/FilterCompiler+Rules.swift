import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// What a rule's filter can contain in addition to a client's: variables, states of the object, and paths through
/// Pointers.
extension FilterCompiler {
    /// A condition on the object before or after the write: `$old.owner`, `$new.owner`.
    ///
    /// For an update, the surrounding statement names the two documents `old_doc` and `new_doc`; the condition's own
    /// `doc` is the old one.
    mutating func stateCondition(
        _ state: RuleVariable.State, _ name: String, _ value: JSONValue, depth: Int
    ) throws -> PostgresQuery {
        guard case .field? = try RuleVariable(state.rawValue + name) else { throw Self.unknown(state.rawValue + name) }
        switch (rule?.states, state) {
        case (.updated, .old), (.created, .new), (.deleted, .old): return try compile(name, value, depth: depth)
        case (.updated, .new):
            isNew = true
            defer { isNew = false }
            return "(SELECT \(try compile(name, value, depth: depth)) FROM (SELECT new_doc) AS next (doc))"
        default: throw Self.absent(state, name)
        }
    }

    /// The value of a field in another state, as `jsonb`.
    private func expression(_ state: RuleVariable.State, _ path: FieldPath, for target: Target) throws -> PostgresQuery
    {
        switch (rule?.states, state) {
        case (.updated, .old): return path.expression(in: "old_doc")
        case (.updated, .new): return path.expression(in: "new_doc")
        case (.created, .new), (.deleted, .old): return path.expression
        default: throw Self.absent(state, target.name)
        }
    }

    private static func absent(_ state: RuleVariable.State, _ field: String) -> ServiceError {
        ServiceError(
            .invalidFilter,
            """
            There is no \(state.rawValue)<field> here: \(RuleVariable.State.old.rawValue) is for update and delete, \
            \(RuleVariable.State.new.rawValue) for create and update, and both only outside queries and Pointers.
            """, field: field)
    }

    /// A condition on the object of the Pointer at the beginning of a name, or on the objects of a list of Pointers
    /// there.
    ///
    /// `OFFSET 0` keeps the planner from joining the collections. The other object is looked up by primary key for each
    /// row that is read, and the plan of the list is the same as without the rule.
    mutating func throughPointer(
        _ hop: RuleCondition.Hop, _ rest: String, _ value: JSONValue, _ rule: ConditionContext, depth: Int
    ) throws -> PostgresQuery {
        let target = try Target(hop.path)
        use(target, .none)
        let path = try target.documentPath(hop.path).expression
        try countSubquery(target)
        let other = scope.scope(of: hop.collection)
        var compiler = FilterCompiler(
            scope: other, now: now, subqueryDepth: subqueryDepth + 1, rule: rule.pastPointer(at: hop.path))
        (compiler.budget, compiler.isNegated) = (budget, isNegated)
        let condition = try compiler.compile(rest, value, depth: depth)
        budget = compiler.budget
        filter.collections.formUnion(compiler.filter.collections.union([hop.collection]))
        filter.isCostly = filter.isCostly || compiler.filter.isCostly
        filter.dependsOnOtherState = true
        // Uses in the Pointer's target do not count, because the target is read by id.
        filter.addUsesElsewhere(of: compiler.filter)
        let exists: PostgresQuery = """
            EXISTS (SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(\(path)) = 'array' THEN \(path) ELSE jsonb_build_array(\(path)) END) \
            AS hop (pointer) JOIN \(try other.source) ON id = pointer->>'objectId' \
            WHERE pointer->>'__type' = 'Pointer' AND pointer->>'className' = \(hop.collection.text)
                AND \(other.isKnownToRules) AND \(condition) OFFSET 0)
            """
        return onAdded(target, lookingUp(path, exists))
    }

    // MARK: Values

    /// As `Target.equality`, for a value that may be a variable.
    func equality(_ target: Target, _ value: JSONValue) throws -> PostgresQuery {
        guard rule != nil, case .string(let text) = value, let variable = try variable(text, target) else {
            return try literalEquality(target, value)
        }
        switch variable {
        case .userID:
            guard let user = rule?.identity.userID else { return "FALSE" }
            guard case .document(let path) = target else { return try target.equality(.string(user)) }
            return onAdded(target, Access.naming(user, in: [path]))
        case .environment: return try literalEquality(target, value)
        case .profile(let path): return try profileEquality(target, path)
        case .field(let state, let path):
            let other = try expression(state, path, for: target)
            return "(coalesce(\(target.json), 'null') = coalesce(\(other), 'null'))"
        case .roles, .blocked, .blockedBy: throw Self.isList(text, target)
        case .now:
            throw ServiceError(
                .invalidFilter, "$now can only be used with $lt, $lte, $gt and $gte.", field: target.name)
        }
    }

    private func literalEquality(_ target: Target, _ value: JSONValue) throws -> PostgresQuery {
        let value = try resolved(value, target)
        let condition = try target.equality(value)
        switch value {
        case .bool, .number, .string: return onAdded(target, condition)
        case .object where value["__type"] != nil: return onAdded(target, condition)
        case .object, .array, .null: return condition
        }
    }

    /// As `Target.comparison`, for a variable; nil for any other value.
    ///
    /// Times are expressions of the statement, not bound values, so that the compiled rule does not change with the
    /// clock.
    mutating func variableComparison(
        _ target: Target, _ sign: StaticString, _ value: JSONValue
    ) throws -> PostgresQuery? {
        guard rule != nil else { return nil }
        if let date = try relativeTime(value, target) {
            let seconds = date.timeIntervalSince(now)
            return timeComparison(target, sign, "(now() + make_interval(secs => \(seconds)))")
        }
        guard case .string(let text) = value, let variable = try variable(text, target) else { return nil }
        switch variable {
        case .now:
            filter.dependsOnOtherState = true
            return timeComparison(target, sign, "now()")
        case .field(let state, let path):
            use(target, .ordered)
            return target.comparison(sign, with: try expression(state, path, for: target))
        case .profile(let path):
            guard case .document = target else { throw Self.incomparable(path, target) }
            use(target, .ordered)
            return target.comparison(sign, with: try profileValue(path))
        case .userID, .environment: return nil
        case .roles, .blocked, .blockedBy: throw Self.isList(text, target)
        }
    }

    /// No index supports this comparison, because documents store times in another form.
    private mutating func timeComparison(
        _ target: Target, _ sign: StaticString, _ time: PostgresQuery
    ) -> PostgresQuery {
        if case .document = target { use(target, .none) } else { use(target, .ordered) }
        return target.comparison(sign, withTime: time)
    }

    private static func isList(_ variable: String, _ target: Target) -> ServiceError {
        ServiceError(.invalidFilter, "\(variable) can only be used with $in and $nin.", field: target.name)
    }

    /// `{"$in":"$user.roles"}`: the field is the name of one of the user's roles, or a list with one. Also compiles the
    /// lists of `isAmongProfile` and `isAmongBlocks`. Nil for any other value.
    func isAmongVariable(_ value: JSONValue, _ target: Target) throws -> PostgresQuery? {
        guard rule != nil, case .string(let text) = value, let variable = try variable(text, target) else { return nil }
        switch variable {
        case .profile(let path): return try isAmongProfile(target, path)
        case .blocked: return try isAmongBlocks(target, "blocked", of: "member")
        case .blockedBy: return try isAmongBlocks(target, "member", of: "blocked")
        case .roles: break
        case .userID, .now, .environment, .field: return nil
        }
        let path = try target.documentPath("$user.roles").expression
        guard case .user(_, let roles)? = rule?.identity else { return "FALSE" }
        return onAdded(target, "(jsonb_typeof(\(path)) <> 'object' AND \(path) ?| \(roles))")
    }

    /// `{"$in":"$user.blocked"}`: the field names one of these users, by id, by a Pointer, or in a list of these.
    ///
    /// The subquery does not depend on the row, so PostgreSQL runs it once.
    private func isAmongBlocks(
        _ target: Target, _ found: StaticString, of caller: StaticString
    ) throws -> PostgresQuery {
        guard let user = rule?.identity.userID else { return "FALSE" }
        let users: PostgresQuery = """
            (SELECT \(unescaped: found) FROM \(try scope.space.own("_blocks")) WHERE \(unescaped: caller) = \(user))
            """
        guard case .document(let path) = target else {
            guard case .system(.id) = target else {
                throw ServiceError(.invalidFilter, "This is not the id of a user.", field: target.name)
            }
            return "(id IN \(users))"
        }
        let value = path.expression
        func id(_ value: PostgresQuery) -> PostgresQuery { "coalesce(\(value)->>'objectId', \(value) #>> '{}')" }
        let isElement: PostgresQuery = """
            EXISTS (SELECT FROM jsonb_array_elements(\(value)) AS named (element) WHERE \(id("element")) IN \(users))
            """
        return onAdded(
            target,
            """
            coalesce(CASE WHEN jsonb_typeof(\(value)) = 'array' THEN \(isElement) ELSE \(id(value)) IN \(users) END, FALSE)
            """)
    }

    /// The value with variables replaced. A client's value is returned unchanged.
    func resolved(_ value: JSONValue, _ target: Target) throws -> JSONValue {
        try rule?.resolved(value, field: target.name) ?? value
    }

    private func variable(_ text: String, _ target: Target) throws -> RuleVariable? {
        try rule?.variable(text, field: target.name)
    }
}

extension Target {
    /// Compares with a time of the database. Times are Dates in documents and timestamps in system columns.
    func comparison(_ sign: StaticString, withTime time: PostgresQuery) -> PostgresQuery {
        guard case .document(let path) = self else { return "\(expression) \(unescaped: sign) \(time)" }
        return """
            (jsonb_typeof(\(path.expression)) = 'object' AND \(path.expression)->>'__type' = 'Date' \
            AND (\(path.expression)->>'iso') COLLATE "C" \(unescaped: sign) to_char(\(time) AT TIME ZONE 'UTC',
                'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
            """
    }

    /// Compares with a value of the same type: two numbers, strings, booleans or Dates.
    func comparison(_ sign: StaticString, with other: PostgresQuery) -> PostgresQuery {
        let own = json
        return """
            (jsonb_typeof(\(own)) = jsonb_typeof(\(other)) AND (jsonb_typeof(\(own)) IN ('number', 'string', 'boolean') \
            OR \(own)->>'__type' = 'Date' AND \(other)->>'__type' = 'Date') AND \(own) \(unescaped: sign) \(other))
            """
    }
}
