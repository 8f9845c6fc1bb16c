import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A field with all of its operators, some of which modify others.
struct Operands {
    let target: Target
    let members: [JSONValue.Member]
    /// Whether the whole filter requires these conditions, so that they may determine an order.
    let isOutermost: Bool

    func value(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    func refusal(_ detail: String) -> ServiceError { ServiceError(.invalidFilter, detail, field: target.name) }
}

extension FilterCompiler {
    /// Nil for an operator that another one has already consumed.
    mutating func compile(_ name: String, _ value: JSONValue, _ operands: Operands) throws -> PostgresQuery? {
        let target = operands.target
        switch name {
        case "$eq":
            useEquality(target, value)
            let condition = try equality(target, value)
            return try count { condition }
        case "$ne":
            use(target, .none)
            let condition = try negating { try $0.equality(target, value) }
            return try count { condition }
        case "$gt": return try compare(target, ">", value)
        case "$gte": return try compare(target, ">=", value)
        case "$lt": return try compare(target, "<", value)
        case "$lte": return try compare(target, "<=", value)
        case "$in":
            if case .array(let values) = value { for value in values { useEquality(target, value) } }
            return try anyOf(value, name, target)
        case "$nin":
            use(target, .none)
            return try negating { try $0.anyOf(value, name, target) }
        case "$exists":
            guard case .bool(let exists) = value else {
                throw operands.refusal("Expected true or false for $exists, found \(value.kind.phrase).")
            }
            use(target, exists ? .none : .ordered)
            return try count { exists ? "\(target.expression) IS NOT NULL" : "\(target.expression) IS NULL" }
        case "$all": return try all(value, operands)
        case "$containedBy":
            use(target, .none)
            let values = try listed(value, name, target).map { try resolved($0, target) }
            return try count { try target.isContained(in: values) }
        case "$regex": return try match(value, options: operands.value("$options"), operands)
        case "$options":
            guard operands.value("$regex") != nil else { throw operands.refusal("$options requires $regex.") }
            return nil
        case "$text":
            let search = try TextSearch(value, field: target.name)
            use(target, .text)
            return try count { search.condition(on: try target.documentPath(name).expression) }
        case "$inQuery": return try inQuery(value, target)
        case "$notInQuery": return try negating { try $0.inQuery(value, target) }
        case "$select": return try select(value, name, target)
        case "$dontSelect": return try negating { try $0.select(value, name, target) }
        default: return try compileGeo(name, value, operands)
        }
    }

    mutating func use(_ target: Target, _ kind: IndexUse.Kind) {
        filter.uses.append(IndexUse(field: target.name, kind: kind))
    }

    /// Records which index supports an equality condition: that of the id, or the one for equality in documents. The
    /// latter covers neither null nor whole lists; these, and other system fields, need an ordered index.
    mutating func useEquality(_ target: Target, _ value: JSONValue) {
        switch (target, value) {
        case (.system(.id), _): use(target, .equality)
        case (.system, _), (.document, .null), (.document, .array): use(target, .ordered)
        case (.document, _): use(target, .equality)
        }
    }

    /// The time that `{"$relativeTime":"2 days ago"}` stands for; nil for any other value.
    mutating func relativeTime(_ value: JSONValue, _ target: Target) throws -> Date? {
        guard let relative = value["$relativeTime"], case .object(let members) = value else { return nil }
        guard case .string(let text) = relative, members.count == 1 else {
            throw ServiceError(
                .invalidFilter, "Expected a $relativeTime that is a string, without other members.", field: target.name)
        }
        filter.dependsOnOtherState = true
        return try RelativeTime.date(text, from: now, field: target.name)
    }

    private mutating func compare(_ target: Target, _ sign: StaticString, _ value: JSONValue) throws -> PostgresQuery {
        if let condition = try variableComparison(target, sign, value) { return try count { condition } }
        use(target, .ordered)
        var value = try resolved(value, target)
        if let date = try relativeTime(value, target) {
            value = .object([.init("__type", .string("Date")), .init("iso", .string(Timestamps.text(date)))])
        }
        return try count { try target.comparison(sign, value) }
    }

    private mutating func listed(_ value: JSONValue, _ name: String, _ target: Target) throws -> [JSONValue] {
        guard case .array(let values) = value else {
            throw ServiceError(
                .invalidFilter, "Expected an array of values for \(name), found \(value.kind.phrase).",
                field: target.name)
        }
        guard values.count <= Self.maximumListed else {
            throw ServiceError(
                .limitExceeded, "\(name) may have at most \(Self.maximumListed) values.", field: target.name)
        }
        budget.listed += values.count
        guard budget.listed <= Self.maximumListedInAll else {
            throw ServiceError(
                .limitExceeded, "All lists of a filter together may have at most \(Self.maximumListedInAll) values.")
        }
        return values
    }

    private mutating func anyOf(_ value: JSONValue, _ name: String, _ target: Target) throws -> PostgresQuery {
        if let condition = try isAmongVariable(value, target) { return try count { condition } }
        let values = try listed(value, name, target)
        guard !values.isEmpty else { return "FALSE" }
        let conditions = try values.map { try equality(target, $0) }
        return try count { "(\(conditions.joined(separator: " OR ")))" }
    }

    /// Compiles `$all`: values, or patterns each of which must match an element.
    private mutating func all(_ value: JSONValue, _ operands: Operands) throws -> PostgresQuery {
        let target = operands.target
        let values = try listed(value, "$all", target).map { try resolved($0, target) }
        guard !values.isEmpty else { return "FALSE" }
        let patterns = values.filter { $0["$regex"] != nil }
        guard patterns.isEmpty || patterns.count == values.count else {
            throw operands.refusal("$all must contain either values or patterns, not both.")
        }
        guard !patterns.isEmpty else {
            use(target, .equality)
            return try count { try target.contains(values) }
        }
        use(target, .none)
        let path = try target.documentPath("$all").expression
        return try patterns.map { value -> PostgresQuery in
            let pattern = try pattern(value["$regex"] ?? .null, options: value["$options"], operands)
            let condition = triedIfReadable(
                """
                EXISTS (SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(\(path)) = 'array' THEN \(path) ELSE '[]' END) AS element \
                WHERE jsonb_typeof(element) = 'string' AND element #>> '{}' ~ \(pattern.text))
                """)
            return try count { condition }
        }.joined(separator: " AND ")
    }

    private mutating func match(_ value: JSONValue, options: JSONValue?, _ operands: Operands) throws -> PostgresQuery {
        let pattern = try pattern(value, options: options, operands)
        use(operands.target, pattern.prefix == nil ? .none : .prefix)
        if case .system(let field) = operands.target, field != .id {
            throw operands.refusal("$regex only applies to strings.")
        }
        let condition = operands.target.match(pattern) { triedIfReadable($0) }
        return try count { condition }
    }

    /// A client's pattern is tried only on objects that the client may read. Otherwise PostgreSQL might try it before
    /// it checks the rights, and the time that a pattern takes would show what other objects contain.
    private func triedIfReadable(_ condition: PostgresQuery) -> PostgresQuery {
        guard rule == nil, let readable = access.readable(for: .find) else { return condition }
        return "CASE WHEN \(readable) THEN \(condition) ELSE FALSE END"
    }

    private mutating func pattern(_ value: JSONValue, options: JSONValue?, _ operands: Operands) throws -> RegexPattern
    {
        guard case .string(let text) = value else {
            throw operands.refusal("Expected a string for $regex, found \(value.kind.phrase).")
        }
        var letters = ""
        if let options {
            guard case .string(let text) = options else {
                throw operands.refusal("Expected a string for $options, found \(options.kind.phrase).")
            }
            letters = text
        }
        budget.patterns += 1
        guard budget.patterns <= Self.maximumPatterns else {
            throw ServiceError(
                .limitExceeded, "A filter may have at most \(Self.maximumPatterns) patterns.",
                field: operands.target.name)
        }
        let pattern = try RegexPattern(text, options: letters, field: operands.target.name)
        if !pattern.isPrefixOnly { filter.isCostly = true }
        return pattern
    }
}
