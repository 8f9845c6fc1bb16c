import MartletAPI
import MartletCore
import MartletPostgres

/// Conditions on other collections, under their rules for the caller, as if they were queried separately.
extension FilterCompiler {
    static let maximumSubqueryLimit = 10_000

    /// `{"className":"Post","where":{…}}`: the field points to one of these objects, or is a list with such a pointer.
    mutating func inQuery(_ value: JSONValue, _ target: Target) throws -> PostgresQuery {
        use(target, .none)
        let path = try target.documentPath("$inQuery").expression
        let collection = try className(value, target)
        let pointers = try subquery(value, collection, target) { _ in
            "jsonb_build_object('__type', 'Pointer', 'className', \(collection.text), 'objectId', id)"
        }
        return onAdded(target, lookingUp(path, Self.isAmong(path, pointers)))
    }

    /// `{"query":{"className":"Team","where":{…}},"key":"city"}`: the field's value equals that of `key` in one of
    /// these objects.
    mutating func select(_ value: JSONValue, _ name: String, _ target: Target) throws -> PostgresQuery {
        use(target, .none)
        guard case .string(let key) = value["key"], let query = value["query"] else {
            throw ServiceError(.invalidFilter, "\(name) requires a \"query\" and a \"key\".", field: target.name)
        }
        let column = try Target(key)
        let values = try subquery(query, try className(query, target), target) { access in
            try access.check(column)
            return column.shown
        }
        return onAdded(target, lookingUp(target.shown, Self.isAmong(target.shown, values)))
    }

    /// `{"object":Pointer,"key":"likes"}`: the members of a relation of an object that the caller may get.
    mutating func relatedTo(_ value: JSONValue) throws -> PostgresQuery {
        guard let object = value["object"], case .string(let id) = object["objectId"], (try? ObjectID(id)) != nil,
            case .string(let key) = value["key"], let path = try? FieldPath(key), path.parts.count == 1
        else {
            throw ServiceError(
                .invalidFilter, "$relatedTo requires an \"object\", a Pointer, and a \"key\".", field: "$relatedTo")
        }
        let owner = scope.scope(of: try className(object, nil))
        try owner.access.check(path)
        filter.collections.insert(owner.collection)
        filter.dependsOnOtherState = true
        let conditions =
            (["id = \(id)", "deleted IS NULL"] + [owner.access.readable(for: .get)].compactMap(\.self))
            as [PostgresQuery]
        let (relations, source) = (try scope.space.own("_relations"), try owner.source)
        let collection = scope.collection.text
        return try count {
            """
            (id IN (SELECT related FROM \(relations) WHERE collection = \(owner.collection.text) AND owner = \(id) \
            AND key = \(key) AND related_collection = \(collection)) \
            AND EXISTS (SELECT FROM \(source) WHERE \(conditions.joined(separator: " AND "))))
            """
        }
    }

    private func className(_ value: JSONValue, _ target: Target?) throws -> CollectionName {
        guard case .string(let name) = value["className"], let collection = try? CollectionName(name) else {
            throw ServiceError(
                .invalidFilter, "A subquery requires a \"className\", the name of a collection.",
                field: target?.name ?? "$relatedTo")
        }
        return collection
    }

    private mutating func subquery(
        _ value: JSONValue, _ collection: CollectionName, _ target: Target,
        selecting column: (Access) throws -> PostgresQuery
    ) throws -> PostgresQuery {
        try countSubquery(target)
        guard case .object(let members) = value,
            let unknown = members.first(where: {
                !["className", "where", "limit", "skip", "order", "__type", "key"].contains($0.name)
            })
        else { return try subquery(value, in: scope.scope(of: collection), target, column) }
        throw ServiceError(
            .invalidFilter,
            "Expected className, where, order, limit or skip in a subquery, found \(JSONValue.excerpt(unknown.name)).",
            field: target.name)
    }

    mutating func countSubquery(_ target: Target) throws {
        budget.subqueries += 1
        guard budget.subqueries <= Self.maximumSubqueries, subqueryDepth < Self.maximumSubqueryDepth else {
            throw ServiceError(
                .limitExceeded,
                """
                A filter may have at most \(Self.maximumSubqueries) subqueries, nested at most \
                \(Self.maximumSubqueryDepth) deep.
                """,
                field: target.name)
        }
    }

    private mutating func subquery(
        _ value: JSONValue, in other: QueryScope, _ target: Target, _ column: (Access) throws -> PostgresQuery
    ) throws -> PostgresQuery {
        let access = other.access
        try access.require(.find)
        var compiler = FilterCompiler(
            scope: other, now: now, subqueryDepth: subqueryDepth + 1, rule: rule?.inner(of: other.collection))
        (compiler.budget, compiler.isNegated) = (budget, isNegated)
        let condition = try compiler.compile(value["where"] ?? .object([]), depth: 0)
        budget = compiler.budget
        filter.collections.formUnion(compiler.filter.collections.union([other.collection]))
        filter.isCostly = filter.isCostly || compiler.filter.isCostly
        filter.dependsOnOtherState = true
        filter.usesElsewhere[other.collection, default: []] += compiler.filter.uses
        filter.addUsesElsewhere(of: compiler.filter)
        let present = rule == nil ? "deleted IS NULL" : other.isKnownToRules
        let conditions = [present, access.readable(for: .find), condition].compactMap(\.self)
        var page: PostgresQuery = ""
        if value["limit"] != nil || value["skip"] != nil || value["order"] != nil {
            guard case .string(let order) = value["order"] ?? .string("") else {
                throw ServiceError(.invalidFilter, "The order of a subquery must be a string.", field: target.name)
            }
            let keys = try order.isEmpty ? [] : ListOrder.keys(order[...], access)
            let limit = try Self.number(value["limit"], "limit", target) ?? Self.maximumSubqueryLimit
            page =
                " ORDER BY \(ListOrder.sql(keys)) LIMIT \(limit) OFFSET \(try Self.number(value["skip"], "skip", target) ?? 0)"
        }
        return
            "SELECT \(try column(access)) FROM \(try other.source) WHERE \(conditions.joined(separator: " AND "))\(page)"
    }

    private static func number(_ value: JSONValue?, _ name: String, _ target: Target) throws -> Int? {
        guard let value else { return nil }
        guard case .number(let literal) = value, let number = Int(literal), (0...maximumSubqueryLimit).contains(number)
        else {
            throw ServiceError(
                .invalidFilter,
                "The \(name) of a subquery must be a whole number from 0 to \(maximumSubqueryLimit).",
                field: target.name)
        }
        return number
    }

    /// Whether the value, or one of its elements if it is a list, is in the subquery's result.
    static func isAmong(_ value: PostgresQuery, _ subquery: PostgresQuery) -> PostgresQuery {
        """
        (\(value) IN (\(subquery)) OR (jsonb_typeof(\(value)) = 'array' AND EXISTS (\
        SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(\(value)) = 'array' THEN \(value) ELSE '[]' END) AS element \
        WHERE element IN (\(subquery)))))
        """
    }
}
