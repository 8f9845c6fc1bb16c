import MartletAPI
import MartletCore
import MartletPostgres

/// The caller's public profile in a rule: `{"city":"$user.city"}`, `{"$user.emailVerified":true}`.
///
/// Read from the caller's document in `_User` by the statement itself, once, because nothing in the subquery depends on
/// the row. `RuleScope` adds the condition that this document exists.
extension FilterCompiler {
    /// The caller's document with `emailVerified`, as a row `doc`; `users` is the scope of `_User`.
    private static func caller(_ user: String, _ users: QueryScope) throws -> PostgresQuery {
        """
        (SELECT doc || jsonb_build_object('emailVerified', email_verified) AS doc FROM \(try users.source) \
        WHERE id = \(user) AND \(users.isKnownToRules) OFFSET 0) AS caller
        """
    }

    /// The condition that the caller has a document in `_User`.
    static func callerIsKnown(_ identity: Identity, in scope: QueryScope) throws -> PostgresQuery {
        guard let user = identity.userID else { return "FALSE" }
        return "EXISTS (SELECT FROM \(try caller(user, scope.scope(of: .users))))"
    }

    private var callerDocument: PostgresQuery? {
        get throws {
            guard let user = rule?.identity.userID else { return nil }
            return try Self.caller(user, scope.scope(of: .users))
        }
    }

    /// The value of a field of the profile, as `jsonb`; NULL if there is none.
    func profileValue(_ path: FieldPath) throws -> PostgresQuery {
        guard let caller = try callerDocument else { return "NULL::jsonb" }
        return "(SELECT \(path.expression) FROM \(caller))"
    }

    /// A condition on a field of the profile: `{"$user.level":{"$gte":3}}`.
    mutating func profileCondition(_ path: FieldPath, _ value: JSONValue, depth: Int) throws -> PostgresQuery {
        guard let caller = try callerDocument, let rule else { return "FALSE" }
        // `$old`, `$new` and Pointers cannot be used here, because their columns are not those of the profile.
        var compiler = FilterCompiler(
            scope: scope.scope(of: .users), now: now, subqueryDepth: subqueryDepth + 1, rule: rule.inner)
        (compiler.budget, compiler.isNegated) = (budget, isNegated)
        let condition = try compiler.compile(path.text, value, depth: depth)
        budget = compiler.budget
        filter.collections.formUnion(compiler.filter.collections)
        filter.isCostly = filter.isCostly || compiler.filter.isCostly
        return "EXISTS (SELECT FROM \(caller) WHERE \(condition))"
    }

    /// Equality with a field of the profile: the same value, or a list with it. A field that the profile lacks or that
    /// is null equals nothing.
    func profileEquality(_ target: Target, _ path: FieldPath) throws -> PostgresQuery {
        let own = try profileValue(path)
        guard case .document(let field) = target else {
            guard case .system(.id) = target else { throw Self.incomparable(path, target) }
            return "(jsonb_typeof(\(own)) = 'string' AND id = \(own) #>> '{}')"
        }
        let isElement: PostgresQuery = """
            (jsonb_typeof(\(field.expression)) = 'array' AND jsonb_typeof(\(own)) NOT IN ('object', 'array') \
            AND \(field.expression) @> jsonb_build_array(\(own)))
            """
        // The first two can use the index on `doc`.
        return onAdded(
            target,
            """
            (\(own) <> 'null' AND (doc @> \(field.document(with: own)) OR doc @> \(field.document(with: "jsonb_build_array(\(own))"))) \
            AND (\(field.expression) = \(own) OR \(isElement)))
            """)
    }

    /// `{"$in":"$user.teams"}`: the field, or an element of it, is in a list of the profile.
    func isAmongProfile(_ target: Target, _ path: FieldPath) throws -> PostgresQuery {
        let own = try profileValue(path)
        let elements: PostgresQuery =
            "SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(\(own)) = 'array' THEN \(own) ELSE '[]' END)"
        return onAdded(target, lookingUp(target.json, Self.isAmong(target.json, elements)))
    }

    static func incomparable(_ path: FieldPath, _ target: Target) -> ServiceError {
        ServiceError(.invalidFilter, "$user.\(path.text) cannot be compared with this.", field: target.name)
    }
}
