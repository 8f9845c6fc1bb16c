import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Turns a filter, `{"name":"tim","age":{"$gte":18}}`, into a condition on a collection's columns.
///
/// Members are joined by AND. A plain value means equality, which holds for an array too when one of its elements
/// equals it (as in MongoDB and Parse); null means null or absent. Operators: `$eq $ne $gt $gte $lt $lte $in $nin
/// $exists`, and `$and $or $nor` over lists of filters. Comparisons hold between values of one type only.
///
/// Every equality with a value other than null is served by the GIN index on `doc`.
struct FilterCompiler {
    static let maximumDepth = 8
    static let maximumConditions = 100
    static let maximumListed = 100

    /// Of all `$in` and `$nin` together: each is a search of the index.
    static let maximumListedInAll = 300

    private let access: Access
    private var conditions = 0
    private var listed = 0

    /// - Throws: `invalid-filter`, `unknown-operator`, `limit-exceeded`, `forbidden` for a hidden field, each naming the field.
    static func condition(_ filter: JSONValue, in scope: QueryScope) throws -> PostgresQuery {
        var compiler = FilterCompiler(access: scope.access)
        return try compiler.compile(filter, depth: 0)
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
        return try operators.map { try compile($0.name, $0.value, on: target) }.joined(separator: " AND ")
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
        case "$exists":
            guard case .bool(let exists) = value else {
                throw HTTPProblem(.invalidFilter, "$exists takes true or false.", field: target.name)
            }
            return try count { exists ? "\(target.expression) IS NOT NULL" : "\(target.expression) IS NULL" }
        default: throw Self.unknown(name)
        }
    }

    private mutating func anyOf(_ value: JSONValue, _ name: String, _ target: Target) throws -> PostgresQuery {
        guard case .array(let values) = value else {
            throw HTTPProblem(.invalidFilter, "\(name) takes a list of values.", field: target.name)
        }
        guard values.count <= Self.maximumListed else {
            throw HTTPProblem(.limitExceeded, "\(name) takes at most \(Self.maximumListed) values.", field: target.name)
        }
        guard !values.isEmpty else { return "FALSE" }
        listed += values.count
        guard listed <= Self.maximumListedInAll else {
            throw HTTPProblem(.limitExceeded, "All lists of a filter together have at most \(Self.maximumListedInAll) values.")
        }
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
