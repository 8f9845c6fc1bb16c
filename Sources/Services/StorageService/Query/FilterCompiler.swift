import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Turns a filter, `{"name":"tim","age":{"$gte":18}}`, into a condition on a collection's columns.
///
/// Members are joined by AND. A plain value means equality, which holds for an array too when one of its elements
/// equals it (as in MongoDB and Parse); null means null or absent. Operators: `$eq $ne $gt $gte $lt $lte $in $nin
/// $exists $all $containedBy $regex (with $options) $inQuery $notInQuery $relatedTo`, and `$and $or $nor` over lists of filters. Comparisons
/// hold between values of one type only, Dates among them.
///
/// What is hidden from the asker cannot be named, here or in a subquery; subqueries see what the asker may find.
///
/// Every equality with a value other than null is served by the GIN index on `doc`.
struct FilterCompiler {
    static let maximumDepth = 8
    static let maximumConditions = 100
    static let maximumListed = 100

    /// Of all `$in` and `$nin` together: each is a search of the index.
    static let maximumListedInAll = 300

    static let maximumSubqueryDepth = 3

    private let scope: QueryScope
    private var access: Access { scope.access }
    private let subqueryDepth: Int
    private var conditions = 0
    private var listed = 0

    /// - Throws: `invalid-filter`, `unknown-operator`, `limit-exceeded`, `forbidden` for a hidden field, each naming the field.
    static func condition(_ filter: JSONValue, in scope: QueryScope) throws -> PostgresQuery {
        var compiler = FilterCompiler(scope: scope, subqueryDepth: 0)
        return try compiler.compile(filter, depth: 0)
    }

    private init(scope: QueryScope, subqueryDepth: Int) {
        self.scope = scope
        self.subqueryDepth = subqueryDepth
    }

    private mutating func compile(_ filter: JSONValue, depth: Int) throws -> PostgresQuery {
        guard case .object(let members) = filter else {
            throw HTTPProblem(.invalidFilter, "A filter is an object of fields and their values.")
        }
        guard depth < Self.maximumDepth else {
            throw HTTPProblem(.limitExceeded, "A filter may be nested \(Self.maximumDepth) deep.")
        }
        guard !members.isEmpty else { return "TRUE" }
        let compiled = try members.map { try compile($0.name, $0.value, depth: depth) }
        return compiled.joined(separator: " AND ")
    }

    private mutating func compile(_ name: String, _ value: JSONValue, depth: Int) throws -> PostgresQuery {
        switch name {
        case "$and": return try combine(name, value, separator: " AND ", depth: depth)
        case "$or": return try combine(name, value, separator: " OR ", depth: depth)
        case "$nor":
            let any = try combine(name, value, separator: " OR ", depth: depth)
            return "\(any) IS NOT TRUE"
        case "$relatedTo": return try related(value)
        default: break
        }
        guard !name.hasPrefix("$") else { throw Self.unknown(name) }
        let target = try Target(name)
        try access.check(target)
        guard case .object(let operators) = value, operators.contains(where: { $0.name.hasPrefix("$") }) else {
            return try count { try target.equality(value) }
        }
        guard operators.allSatisfy({ $0.name.hasPrefix("$") }) else {
            throw HTTPProblem(.invalidFilter, "Operators and plain members do not mix.", field: name)
        }
        let options = try RegexFilter.options(value, field: name)
        return try operators.filter { $0.name != "$options" }.map { operation in
            if operation.name == "$regex" { return try count { try RegexFilter.condition(operation.value, options: options, on: target) } }
            return try compile(operation.name, operation.value, on: target)
        }.joined(separator: " AND ")
    }

    private mutating func combine(
        _ name: String, _ value: JSONValue, separator: StaticString, depth: Int
    ) throws -> PostgresQuery {
        guard case .array(let filters) = value, !filters.isEmpty else {
            throw HTTPProblem(.invalidFilter, "\(name) takes a list of filters.", field: name)
        }
        let parts = try filters.map { filter -> PostgresQuery in "(\(try compile(filter, depth: depth + 1)))" }
        return "(\(parts.joined(separator: separator)))"
    }

    private mutating func compile(_ name: String, _ value: JSONValue, on target: Target) throws -> PostgresQuery {
        switch name {
        case "$eq": return try count { try target.equality(value) }
        case "$ne": return try count { "(\(try target.equality(value))) IS NOT TRUE" }
        case "$gt": return try count { try target.comparison(">", value) }
        case "$gte": return try count { try target.comparison(">=", value) }
        case "$lt": return try count { try target.comparison("<", value) }
        case "$lte": return try count { try target.comparison("<=", value) }
        case "$in": return try anyOf(value, name, target)
        case "$nin":
            let any = try anyOf(value, name, target)
            return "\(any) IS NOT TRUE"
        case "$all":
            let values = try list(value, name, target)
            guard !values.isEmpty else { throw HTTPProblem(.invalidFilter, "$all takes at least one value.", field: target.name) }
            return try count { try target.containsAll(values) }
        case "$containedBy":
            let values = try list(value, name, target)
            return try count { try target.isContained(in: values) }
        case "$inQuery": return try subquery(value, on: target)
        case "$notInQuery":
            let any = try subquery(value, on: target)
            return "\(any) IS NOT TRUE"
        case "$exists":
            guard case .bool(let exists) = value else {
                throw HTTPProblem(.invalidFilter, "$exists takes true or false.", field: target.name)
            }
            return try count { exists ? "\(target.expression) IS NOT NULL" : "\(target.expression) IS NULL" }
        default: throw Self.unknown(name)
        }
    }

    /// The members of relation `key` of the object that a Pointer names, if the asker may get that object and see the field.
    private mutating func related(_ value: JSONValue) throws -> PostgresQuery {
        guard case .string(let key) = value["key"], case .string(let id) = value["object"]?["objectId"],
            case .string(let name) = value["object"]?["className"]
        else { throw HTTPProblem(.invalidFilter, "It has an \"object\", a Pointer, and a \"key\".", field: "$relatedTo") }
        let owner = scope.scope(of: try CollectionName(name))
        try owner.access.require(.get)
        try owner.access.check(try FieldPath(key))
        let conditions = ["id = \(try ObjectID(id).text)", "deleted IS NULL", owner.access.readable(for: .get)].compactMap(\.self)
        let (relations, collection) = (try scope.space.own("_relations"), scope.collection.text)
        return try count {
            """
            id IN (SELECT related FROM \(relations) WHERE collection = \(name) AND owner = \(id) AND key = \(key)
                AND related_collection = \(collection)
                AND EXISTS (SELECT FROM \(try owner.table) WHERE \(conditions.joined(separator: " AND "))))
            """
        }
    }

    /// Pointers (in the field or in its array) to objects of another collection that match a filter there.
    private mutating func subquery(_ value: JSONValue, on target: Target) throws -> PostgresQuery {
        guard case .document(let path) = target, case .string(let name) = value["className"], let filter = value["where"] else {
            throw HTTPProblem(.invalidFilter, "A subquery has a \"className\" and a \"where\".", field: target.name)
        }
        guard case .object(let members) = value, members.allSatisfy({ ["className", "where"].contains($0.name) }) else {
            throw HTTPProblem(.invalidFilter, "A subquery has a \"className\" and a \"where\", and nothing else.", field: target.name)
        }
        guard subqueryDepth < Self.maximumSubqueryDepth else {
            throw HTTPProblem(.limitExceeded, "Subqueries may be nested \(Self.maximumSubqueryDepth) deep.", field: target.name)
        }
        let other = scope.scope(of: try CollectionName(name))
        try other.access.require(.find)
        var compiler = FilterCompiler(scope: other, subqueryDepth: subqueryDepth + 1)
        compiler.conditions = conditions
        compiler.listed = listed
        let condition = try compiler.compile(filter, depth: 0)
        conditions = compiler.conditions
        listed = compiler.listed
        let parts = ["deleted IS NULL", other.access.readable(for: .find), "(\(condition))"].compactMap(\.self)
        let expression = path.expression
        return try count {
            """
            EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(\(expression)) WHEN 'array' THEN \(expression)
                WHEN 'object' THEN jsonb_build_array(\(expression)) ELSE '[]' END) AS pointer
                WHERE pointer->>'className' = \(name) AND pointer->>'objectId' IN (
                    SELECT id FROM \(try other.table) WHERE \(parts.joined(separator: " AND "))))
            """
        }
    }

    private mutating func list(_ value: JSONValue, _ name: String, _ target: Target) throws -> [JSONValue] {
        guard case .array(let values) = value else {
            throw HTTPProblem(.invalidFilter, "\(name) takes a list of values.", field: target.name)
        }
        guard values.count <= Self.maximumListed else {
            throw HTTPProblem(.limitExceeded, "\(name) takes at most \(Self.maximumListed) values.", field: target.name)
        }
        listed += values.count
        guard listed <= Self.maximumListedInAll else {
            throw HTTPProblem(.limitExceeded, "All lists of a filter together have at most \(Self.maximumListedInAll) values.")
        }
        return values
    }

    private mutating func anyOf(_ value: JSONValue, _ name: String, _ target: Target) throws -> PostgresQuery {
        let values = try list(value, name, target)
        guard !values.isEmpty else { return "FALSE" }
        return try count { "(\(try values.map(target.equality).joined(separator: " OR ")))" }
    }

    private mutating func count(_ condition: () throws -> PostgresQuery) throws -> PostgresQuery {
        conditions += 1
        guard conditions <= Self.maximumConditions else {
            throw HTTPProblem(.limitExceeded, "A filter may have \(Self.maximumConditions) conditions.")
        }
        return try condition()
    }

    private static func unknown(_ name: String) -> HTTPProblem {
        HTTPProblem(.unknownOperator, "This operator is not known.", field: name)
    }
}
