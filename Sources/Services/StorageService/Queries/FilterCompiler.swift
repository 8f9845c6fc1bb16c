import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A compiled filter.
struct Filter: Sendable {
    /// A condition on the unqualified columns of the collection's table.
    var condition: PostgresQuery
    /// The order by distance that the filter determines; nil for none.
    var order: PostgresQuery?
    /// Other collections that the condition reads.
    var collections: Set<CollectionName> = []
    /// Whether evaluating the condition may take long for a single object.
    var isCostly = false
    /// Whether the result may change without a write to the object, because it depends on other collections or the
    /// clock.
    var dependsOnOtherState = false
    var uses: [IndexUse] = []
    /// The uses in subqueries, by their collection (`$inQuery`, `$select`).
    var usesElsewhere: [CollectionName: [IndexUse]] = [:]
    /// The conditions that must all hold: `condition` in parts.
    var parts: [Part] = []

    /// A member of the outermost object, and its condition.
    struct Part: Sendable {
        var member: JSONValue.Member
        var condition: PostgresQuery
        var uses: [IndexUse]
    }

    mutating func addUsesElsewhere(of other: Filter) {
        usesElsewhere.merge(other.usesElsewhere) { $0 + $1 }
    }

    /// Whether an index is likely to support the filter.
    var isIndexed: Bool { isIndexed(uses) }

    /// Whether an index is likely to support one of the uses.
    func isIndexed(_ uses: some Sequence<IndexUse>) -> Bool {
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

/// Compiles a filter, `{"name":"tim","age":{"$gte":18}}`, into a condition on a collection's columns.
///
/// Members are joined by AND. A plain value means equality, which is also true for an array with an equal element (as
/// in MongoDB and Parse); null matches null and absent fields. Comparisons only match values of the same type.
/// docs/api/queries.md describes every operator. Filters on fields hidden from the caller are refused, and subqueries
/// only read objects that the caller may find.
///
/// The GIN index on `doc` supports every equality with a value other than null.
struct FilterCompiler {
    static let maximumDepth = 8
    static let maximumConditions = 100
    static let maximumListed = 100
    static let maximumSubqueries = 4
    static let maximumSubqueryDepth = 3
    static let maximumPatterns = 10

    /// The limit for all `$in` and `$nin` lists together, because each value is a search in the index.
    static let maximumListedInAll = 300

    /// What a filter with all its subqueries has used of the limits.
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
    /// What the variables of a rule's filter stand for; nil for a client's filter, which has none.
    let rule: ConditionContext?
    /// Whether the condition is on a document about to be written.
    var isNew: Bool
    /// Whether the condition being compiled is inside an odd number of negations.
    var isNegated = false
    /// Whether every matching object fulfils the condition being compiled: it is at the top, or in `$and` there.
    var isRequired = true
    /// Whether a member at the top determines the order by distance.
    var isSortedAtTop = false
    var budget = Budget()
    var filter = Filter(condition: "TRUE")

    init(scope: QueryScope, now: Date, subqueryDepth: Int = 0, rule: ConditionContext? = nil) {
        self.scope = scope
        self.access = scope.access
        self.now = now
        self.subqueryDepth = subqueryDepth
        self.rule = rule
        isNew = rule?.states == .created || rule?.states == .result
    }

    /// - Throws: `invalid-filter`, `unknown-operator`, `limit-exceeded`; `forbidden` for a hidden field. Each names the
    ///   field.
    static func condition(_ filter: JSONValue, in scope: QueryScope) throws -> PostgresQuery {
        try self.filter(filter, in: scope).condition
    }

    /// As `condition`, with the other properties that a list needs. `$relativeTime` is relative to `now`.
    static func filter(_ filter: JSONValue, in scope: QueryScope, now: Date = Date()) throws -> Filter {
        var compiler = FilterCompiler(scope: scope, now: now)
        compiler.filter.condition = try compiler.compile(filter, depth: 0)
        return compiler.filter
    }

    mutating func compile(_ filter: JSONValue, depth: Int) throws -> PostgresQuery {
        guard case .object(let members) = filter else {
            throw ServiceError(
                .invalidFilter, "Expected a filter, an object of fields and their values, found \(filter.kind.phrase).")
        }
        guard depth < Self.maximumDepth else {
            throw ServiceError(.limitExceeded, "A filter may be nested at most \(Self.maximumDepth) deep.")
        }
        guard !members.isEmpty else { return "TRUE" }
        let compiled = try members.map { member in
            let used = self.filter.uses.count
            let condition = try compile(member.name, member.value, depth: depth)
            if depth == 0, subqueryDepth == 0 {
                self.filter.parts.append(
                    Filter.Part(member: member, condition: condition, uses: Array(self.filter.uses[used...])))
            }
            return condition
        }
        return compiled.joined(separator: " AND ")
    }

    mutating func compile(_ name: String, _ value: JSONValue, depth: Int) throws -> PostgresQuery {
        switch name {
        case "$and": return try combine(name, value, separator: " AND ", depth: depth)
        case "$or": return try combine(name, value, separator: " OR ", depth: depth)
        case "$nor":
            return try negating { try $0.combine(name, value, separator: " OR ", depth: depth) }
        case "$relatedTo": return try relatedTo(value)
        case "$text":
            let search = try TextSearch(value, field: name)
            filter.uses.append(IndexUse(field: "*", kind: .text))
            let visible = access.visible()
            return try count { search.condition(on: visible) }
        default: break
        }
        if let rule {
            if let path = RuleVariable.profilePath(name) { return try profileCondition(path, value, depth: depth) }
            if let (state, rest) = RuleVariable.state(name) {
                return try stateCondition(state, rest, value, depth: depth)
            }
            if let (hop, rest) = rule.hop(in: name) {
                return try throughPointer(hop, rest, value, rule, depth: depth)
            }
        }
        guard !name.begins(with: "$") else { throw Self.unknown(name) }
        let target = try Target(name)
        try access.check(target)
        guard case .object(let operators) = value, operators.contains(where: { $0.name.begins(with: "$") }) else {
            useEquality(target, value)
            let condition = try equality(target, value)
            return try count { condition }
        }
        guard operators.allSatisfy({ $0.name.begins(with: "$") }) else {
            throw ServiceError(
                .invalidFilter, "An object may contain either operators or plain members, not both.", field: name)
        }
        let operands = Operands(target: target, members: operators, isOutermost: depth == 0)
        return try operators.compactMap { try compile($0.name, $0.value, operands) }.joined(separator: " AND ")
    }

    private mutating func combine(
        _ name: String, _ value: JSONValue, separator: StaticString, depth: Int
    ) throws -> PostgresQuery {
        guard case .array(let filters) = value, !filters.isEmpty else {
            let found = value == .array([]) ? "an empty array" : value.kind.phrase
            throw ServiceError(
                .invalidFilter, "Expected an array of filters for \(name), found \(found).", field: name)
        }
        let wasRequired = isRequired
        isRequired = wasRequired && name == "$and"
        defer { isRequired = wasRequired }
        let parts = try filters.map { filter -> PostgresQuery in "(\(try compile(filter, depth: depth + 1)))" }
        return "(\(parts.joined(separator: separator)))"
    }

    /// Counts a condition against the limit, then compiles it.
    mutating func count(_ condition: () throws -> PostgresQuery) throws -> PostgresQuery {
        budget.conditions += 1
        guard budget.conditions <= Self.maximumConditions else {
            throw ServiceError(.limitExceeded, "A filter may have at most \(Self.maximumConditions) conditions.")
        }
        return try condition()
    }

    static func unknown(_ name: String) -> ServiceError {
        ServiceError(.unknownOperator, "Unknown operator \(JSONValue.excerpt(name)).", field: name)
    }
}
