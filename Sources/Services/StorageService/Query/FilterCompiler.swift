import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A filter as SQL.
struct Filter: Sendable {
    /// On the columns of the collection's table, unqualified.
    var condition: PostgresQuery
    /// The order that the filter asks for, by distance; nil: none.
    var order: PostgresQuery?
    /// Other collections that the condition reads.
    var collections: Set<CollectionName> = []
    /// Whether the condition may take long on a single object.
    var isCostly = false
    /// Whether it holds or not without any write to the object: it reads other collections, or the clock.
    var dependsOnMore = false
    var uses: [IndexUse] = []

    /// Whether an index is likely to find what matches.
    var isServed: Bool {
        uses.contains { use in
            switch use.kind {
            case .equality: use.field != SystemField.id.rawValue
            case .prefix, .text: true
            case .geo: order == nil
            case .ordered, .none: false
            }
        }
    }
}

/// Turns a filter, `{"name":"tim","age":{"$gte":18}}`, into a condition on a collection's columns.
///
/// Members are joined by AND. A plain value means equality, which holds for an array too when one of its elements
/// equals it (as in MongoDB and Parse); null means null or absent. Comparisons hold between values of one type only.
/// docs/API.md has every operator. Fields that are hidden from the asker are refused; subqueries read what the asker
/// may find, nothing else.
///
/// Every equality with a value other than null is served by the GIN index on `doc`.
struct FilterCompiler {
    static let maximumDepth = 8
    static let maximumConditions = 100
    static let maximumListed = 100
    static let maximumSubqueries = 4
    static let maximumSubqueryDepth = 3
    static let maximumPatterns = 10

    /// Of all `$in` and `$nin` together: each is a search of the index.
    static let maximumListedInAll = 300

    /// What is used up, of a filter with all its subqueries.
    struct Budget {
        var conditions = 0
        var listed = 0
        var subqueries = 0
        var patterns = 0
    }

    let scope: QueryScope
    let access: Access
    let now: Date
    let subqueryDepth: Int
    var budget = Budget()
    var filter = Filter(condition: "TRUE")

    init(scope: QueryScope, now: Date, subqueryDepth: Int = 0) {
        self.scope = scope
        self.access = scope.access
        self.now = now
        self.subqueryDepth = subqueryDepth
    }

    /// - Throws: `invalid-filter`, `unknown-operator`, `limit-exceeded`, `forbidden` for a hidden field, each naming
    ///   the field.
    static func condition(_ filter: JSONValue, in scope: QueryScope) throws -> PostgresQuery {
        try self.filter(filter, in: scope).condition
    }

    /// As `condition`, with everything else that a list needs to know. `now` is what `$relativeTime` counts from.
    static func filter(_ filter: JSONValue, in scope: QueryScope, now: Date = Date()) throws -> Filter {
        var compiler = FilterCompiler(scope: scope, now: now)
        compiler.filter.condition = try compiler.compile(filter, depth: 0)
        return compiler.filter
    }

    mutating func compile(_ filter: JSONValue, depth: Int) throws -> PostgresQuery {
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
        case "$relatedTo": return try relatedTo(value)
        case "$text":
            let search = try TextSearch(value, field: name)
            filter.uses.append(IndexUse(field: "*", kind: .text))
            let visible = access.visible()
            return try count { search.condition(on: visible) }
        default: break
        }
        guard !name.begins(with: "$") else { throw Self.unknown(name) }
        let target = try Target(name)
        try access.check(target)
        guard case .object(let operators) = value, operators.contains(where: { $0.name.begins(with: "$") }) else {
            useEquality(target, value)
            return try count { try target.equality(value) }
        }
        guard operators.allSatisfy({ $0.name.begins(with: "$") }) else {
            throw HTTPProblem(.invalidFilter, "Operators and plain members do not mix.", field: name)
        }
        let operands = Operands(target: target, members: operators, isOutermost: depth == 0)
        return try operators.compactMap { try compile($0.name, $0.value, operands) }.joined(separator: " AND ")
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

    mutating func count(_ condition: () throws -> PostgresQuery) throws -> PostgresQuery {
        budget.conditions += 1
        guard budget.conditions <= Self.maximumConditions else {
            throw HTTPProblem(.limitExceeded, "A filter may have \(Self.maximumConditions) conditions.")
        }
        return try condition()
    }

    static func unknown(_ name: String) -> HTTPProblem {
        HTTPProblem(.unknownOperator, "This operator is not known.", field: name)
    }
}
