import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A query that summarizes all matching objects as rows of values.
protocol SummaryQuery {
    var filter: JSONValue? { get }

    func statement(in scope: QueryScope) throws -> Statement
}

extension SummaryQuery {
    /// The JSON texts of the column `object`, joined by commas; NULL if their running `size` exceeds the limit.
    static func texts(upTo limit: Int) -> PostgresQuery {
        """
        CASE WHEN max(size) > \(limit) THEN NULL ELSE coalesce(string_agg(object, ',') FILTER (WHERE size <= \(limit)), '') END
        """
    }

    static var size: PostgresQuery { "sum(octet_length(object)) OVER (ROWS UNBOUNDED PRECEDING)" }

    /// The filter, restricted to objects that the caller may find and count.
    func condition(_ filter: JSONValue?, _ scope: QueryScope) throws -> Filter {
        let access = scope.access
        var compiled = try filter.map { try FilterCompiler.filter($0, in: scope) } ?? Filter(condition: "TRUE")
        let parts: [PostgresQuery?] = [
            "deleted IS NULL", access.readable(for: .find), access.readable(for: .count), compiled.condition,
        ]
        compiled.condition = parts.compactMap(\.self).joined(separator: " AND ")
        return compiled
    }
}

/// `{"where"?,"group"?:["city",…],"values":{"total":{"$sum":"price"},"n":{"$count":true}},"order"?:"-total","limit"?,"skip"?}`
///
/// Returns one object per group, with the fields of the group and the values. Numbers are exact decimals; averages have
/// at least 16 digits.
struct AggregateQuery: SummaryQuery {
    static let maximumGroups = 4
    static let maximumValues = 20

    private enum Function: String {
        case count = "$count"
        case sum = "$sum"
        case average = "$avg"
        case minimum = "$min"
        case maximum = "$max"
    }

    let filter: JSONValue?
    private let groups: [Target]
    private let values: [(name: String, function: Function, target: Target?)]
    private let order: [(column: Int, isDescending: Bool)]
    private let limit: Int
    private let skip: Int

    /// - Throws: `invalid-body` naming the field, `invalid-filter`, `unknown-operator`, `limit-exceeded`, `forbidden`
    ///   for a hidden field.
    init(_ body: JSONValue, in scope: QueryScope) throws {
        try Self.check(body, ["where", "group", "values", "order", "limit", "skip"])
        filter = body["where"]
        groups = try Self.strings(body["group"], "group", maximum: Self.maximumGroups).map(Target.init)
        for target in groups { try scope.access.check(target) }
        guard case .object(let members) = body["values"] ?? .object([]), members.count <= Self.maximumValues,
            !members.isEmpty || !groups.isEmpty
        else {
            throw ServiceError(
                .invalidBody, "Expected an object of 1 to \(Self.maximumValues) names, each with a function.",
                field: "values")
        }
        values = try members.map { try Self.value($0, in: scope) }
        let names = groups.map(\.name) + values.map(\.name)
        guard Set(names).count == names.count else {
            throw ServiceError(.invalidBody, "A name occurs twice.", field: "values")
        }
        var order: [(column: Int, isDescending: Bool)] = []
        if let value = body["order"] {
            guard case .string(let text) = value, !text.isEmpty else {
                throw ServiceError(
                    .invalidBody,
                    "Expected names of fields, found \(value == .string("") ? "an empty string" : value.phrase).",
                    field: "order")
            }
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let name = part.hasPrefix("-") ? part.dropFirst() : part
                guard let column = names.firstIndex(of: String(name)), order.count < names.count else {
                    throw ServiceError(
                        .invalidBody,
                        "Expected names of fields in \"group\" and \"values\", found \(JSONValue.excerpt(name)).",
                        field: "order")
                }
                order.append((column, part.hasPrefix("-")))
            }
        }
        self.order = order
        limit = try Self.integer(body["limit"], "limit", in: 1...ListQuery.maximumLimit) ?? ListQuery.defaultLimit
        skip = try Self.integer(body["skip"], "skip", in: 0...ListQuery.maximumSkip) ?? 0
        _ = try statement(in: scope)
    }

    func statement(in scope: QueryScope) throws -> Statement {
        let compiled = try condition(filter, scope)
        var columns: [PostgresQuery] = []
        for (number, group) in groups.enumerated() { columns.append("\(group.shown) AS \(Self.column(number))") }
        for (number, value) in values.enumerated() {
            columns.append("\(Self.sql(value.function, value.target)) AS \(Self.column(groups.count + number))")
        }
        let names = groups.map(\.name) + values.map(\.name)
        let members = names.enumerated().map { "\($1)::text, \(Self.column($0))" as PostgresQuery }
        let grouping: PostgresQuery = groups.isEmpty ? "" : " GROUP BY \(groups.map(\.shown).joined(separator: ", "))"
        let keys =
            order.map {
                "\(Self.column($0.column))\($0.isDescending ? " DESC NULLS LAST" : "" as PostgresQuery)"
                    as PostgresQuery
            }
            + groups.indices.map(Self.column)
        let ordering: PostgresQuery = keys.isEmpty ? "" : " ORDER BY \(keys.joined(separator: ", "))"
        return Statement(
            """
            SELECT count(*), \(Self.texts(upTo: scope.pageSizeInBytes)) FROM (
                SELECT object, \(Self.size) AS size FROM (
                    SELECT jsonb_build_object(\(members.joined(separator: ", ")))::text AS object FROM (
                        SELECT \(columns.joined(separator: ", ")) FROM \(try scope.table) WHERE \(compiled.condition)\(grouping)) AS grouped\(ordering)
                    LIMIT \(limit) OFFSET \(skip)) AS page) AS sized
            """, others: compiled.collections, isCostly: compiled.isCostly)
    }

    private static func value(_ member: JSONValue.Member, in scope: QueryScope) throws -> (
        name: String, function: Function, target: Target?
    ) {
        let field = "values.\(member.name.prefix(128))"
        guard (1...128).contains(member.name.utf8.count), case .object(let parts) = member.value, parts.count == 1
        else {
            throw ServiceError(
                .invalidBody, "Expected {\"$count\":true}, or {\"$sum\":\"field\"} with $sum, $avg, $min or $max.",
                field: field
            )
        }
        guard let function = Function(rawValue: parts[0].name) else {
            throw ServiceError(
                .unknownOperator,
                "Expected one of $count, $sum, $avg, $min, $max, found \(JSONValue.excerpt(parts[0].name)).",
                field: field)
        }
        if function == .count {
            guard parts[0].value == .bool(true) else {
                throw ServiceError(
                    .invalidBody, "Expected true for $count, found \(parts[0].value.phrase).", field: field)
            }
            return (member.name, function, nil)
        }
        guard case .string(let path) = parts[0].value else {
            throw ServiceError(
                .invalidBody, "Expected a field's name, found \(parts[0].value.phrase).", field: field)
        }
        let target = try Target(path)
        try scope.access.check(target)
        return (member.name, function, target)
    }

    private static func sql(_ function: Function, _ target: Target?) -> PostgresQuery {
        guard let target else { return "to_jsonb(count(*))" }
        let number: PostgresQuery =
            "CASE WHEN jsonb_typeof(\(target.json)) = 'number' THEN (\(target.json))::numeric END"
        let present: PostgresQuery = "nullif(\(target.shown), 'null'::jsonb)"
        return switch function {
        case .count: "to_jsonb(count(*))"
        case .sum: "to_jsonb(coalesce(sum(\(number)), 0))"
        case .average: "to_jsonb(avg(\(number)))"
        case .minimum: "storage.smallest(\(present))"
        case .maximum: "storage.greatest(\(present))"
        }
    }

    private static func column(_ number: Int) -> PostgresQuery { PostgresQuery(unescaped: "column\(number)") }

    static func check(_ body: JSONValue, _ known: Set<String>) throws {
        guard case .object(let members) = body else {
            throw ServiceError(.invalidBody, "Expected a JSON object, found \(body.kind.phrase).")
        }
        for member in members where !known.contains(member.name) {
            throw ServiceError.unknownMember(member.name, known: known)
        }
    }

    static func strings(_ value: JSONValue?, _ field: String, maximum: Int) throws -> [String] {
        guard let value else { return [] }
        func refusal(_ found: String) -> ServiceError {
            ServiceError(
                .invalidBody, "Expected an array of at most \(maximum) fields, found \(found).", field: field)
        }
        guard case .array(let elements) = value else { throw refusal(value.phrase) }
        guard elements.count <= maximum else { throw refusal("\(elements.count)") }
        return try elements.map { element in
            guard case .string(let text) = element else { throw refusal("\(element.phrase) in it") }
            return text
        }
    }

    static func integer(_ value: JSONValue?, _ field: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let value else { return nil }
        guard case .number(let literal) = value, let number = Int(literal), range.contains(number) else {
            throw ServiceError(
                .invalidBody,
                "Expected a whole number from \(range.lowerBound) to \(range.upperBound), found \(value.phrase).",
                field: field)
        }
        return number
    }
}

/// `{"field":"city","where"?,"limit"?,"skip"?}`: the distinct values of a field, in order. A list counts as its
/// elements.
struct DistinctQuery: SummaryQuery {
    let filter: JSONValue?
    private let target: Target
    private let limit: Int
    private let skip: Int

    /// - Throws: as `AggregateQuery`.
    init(_ body: JSONValue, in scope: QueryScope) throws {
        try AggregateQuery.check(body, ["field", "where", "limit", "skip"])
        guard case .string(let name) = body["field"] else {
            throw ServiceError(
                .invalidBody, "Expected a field's name, found \(body["field"]?.phrase ?? "nothing").", field: "field")
        }
        target = try Target(name)
        try scope.access.check(target)
        filter = body["where"]
        limit =
            try AggregateQuery.integer(body["limit"], "limit", in: 1...ListQuery.maximumLimit) ?? ListQuery.maximumLimit
        skip = try AggregateQuery.integer(body["skip"], "skip", in: 0...ListQuery.maximumSkip) ?? 0
        _ = try statement(in: scope)
    }

    func statement(in scope: QueryScope) throws -> Statement {
        let compiled = try condition(filter, scope)
        let value = target.shown
        return Statement(
            """
            SELECT count(*), \(Self.texts(upTo: scope.pageSizeInBytes)) FROM (
                SELECT object, \(Self.size) AS size FROM (
                    SELECT value::text AS object FROM (
                        SELECT DISTINCT element AS value FROM \(try scope.table), LATERAL jsonb_array_elements(
                            CASE WHEN jsonb_typeof(\(value)) = 'array' THEN \(value) ELSE jsonb_build_array(\(value)) END) AS element
                        WHERE \(value) IS NOT NULL AND element <> 'null'::jsonb AND \(compiled.condition)
                        ORDER BY element LIMIT \(limit) OFFSET \(skip)) AS found
                    ORDER BY value) AS page) AS sized
            """, others: compiled.collections, isCostly: compiled.isCostly)
    }
}
