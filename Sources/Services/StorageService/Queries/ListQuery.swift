import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A request for a list, from query parameters and filter.
struct ListQuery: Sendable {
    static let defaultLimit = 100
    static let maximumLimit = 1_000
    static let maximumSkip = 1_000_000

    /// Filters that must all hold.
    var filters: [JSONValue] = []
    /// Nil for the filter's order by distance, or by id.
    var order: [OrderKey]?
    var skip = 0
    var limit = ListQuery.defaultLimit
    /// The top-level fields to return; nil for all.
    var keys: [String]?
    /// The top-level fields to omit.
    var excludedKeys: [String] = []
    var include = Include()
    /// The position at which to continue; `.some(nil)` for the start; nil for pages by `skip`.
    var cursor: Cursor??
    /// Whether `count` should be the number of all matches.
    var countsAll = false
    var includesDeleted = false

    /// - Throws: `invalid-parameter` naming the parameter, `forbidden` naming a hidden field.
    init(_ parameters: Parameters, in scope: QueryScope) throws {
        if let text = parameters["skip"] { skip = try Self.integer(text, "skip", in: 0...Self.maximumSkip) }
        if let text = parameters["limit"] { limit = try Self.integer(text, "limit", in: 0...Self.maximumLimit) }
        if let text = parameters["keys"] { keys = try Self.keys(text, "keys") }
        if let text = parameters["excludeKeys"] { excludedKeys = try Self.keys(text, "excludeKeys") }
        if let text = parameters["include"] { include = try Include(text) }
        if let text = parameters["order"] { order = try ListOrder.keys(text, scope.access) }
        if let text = parameters["count"] { countsAll = try Self.flag(text, "count") }
        if let text = parameters["deleted"] { includesDeleted = try Self.flag(text, "deleted") }
        if let text = parameters["where"] {
            let filter: JSONValue
            do { filter = try JSONValue(parsing: text.utf8) } catch {
                throw ServiceError(.invalidParameter, "\(error)", field: "where")
            }
            try add(filter, in: scope)
        }
        if let text = parameters["cursor"] {
            guard skip == 0 else {
                throw ServiceError(.invalidParameter, "A cursor cannot be combined with skip.", field: "cursor")
            }
            cursor = .some(text.isEmpty ? nil : try Cursor(text, order: completeOrder))
        }
    }

    /// - Throws: as `FilterCompiler`.
    mutating func add(_ filter: JSONValue, in scope: QueryScope) throws {
        // Reports errors even if the collection is missing.
        _ = try FilterCompiler.filter(filter, in: scope)
        filters.append(filter)
    }

    /// All filters combined.
    func filter(in scope: QueryScope) throws -> Filter? {
        switch filters.count {
        case 0: nil
        case 1: try FilterCompiler.filter(filters[0], in: scope)
        default:
            try filters.dropFirst().map { try FilterCompiler.filter($0, in: scope) }
                .reduce(into: FilterCompiler.filter(filters[0], in: scope)) { sum, next in
                    sum.condition = "(\(sum.condition)) AND (\(next.condition))"
                    sum.order = sum.order ?? next.order
                    sum.collections.formUnion(next.collections)
                    sum.isCostly = sum.isCostly || next.isCostly
                    sum.uses += next.uses
                    sum.addUsesElsewhere(of: next)
                    sum.parts += next.parts
                }
        }
    }

    var completeOrder: [OrderKey] { ListOrder.complete(order ?? []) }

    /// Sets the page from the path, `…/{skip}/{limit}`.
    mutating func setPage(skip: String, limit: String) throws {
        self.skip = try Self.integer(skip[...], "skip", in: 0...Self.maximumSkip)
        self.limit = try Self.integer(limit[...], "limit", in: 0...Self.maximumLimit)
        guard cursor == nil else {
            throw ServiceError(.invalidParameter, "A cursor cannot be combined with skip.", field: "cursor")
        }
    }

    static func integer(_ text: Substring, _ name: String, in range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw ServiceError.unexpectedParameter(
                name[...], expected: "a whole number from \(range.lowerBound) to \(range.upperBound)", found: text)
        }
        return number
    }

    static func flag(_ text: Substring, _ name: String) throws -> Bool {
        switch text {
        case "1", "true": true
        case "0", "false": false
        default: throw ServiceError.unexpectedParameter(name[...], expected: "true or false", found: text)
        }
    }

    /// A flag of the query that may be missing.
    ///
    /// - Throws: `invalid-parameter`.
    static func flag(_ name: String, in request: Request, default missing: Bool = false) throws -> Bool {
        try request.uri.queryParameters[Substring(name)].map { try flag($0, name) } ?? missing
    }

    static func keys(_ text: Substring, _ name: String) throws -> [String] {
        let keys = text.split(separator: ",").map(String.init)
        guard !keys.isEmpty, keys.count <= 100, keys.allSatisfy({ !$0.holds(".") && PostgresLiteral($0) != nil }) else {
            throw ServiceError.unexpectedParameter(
                name[...], expected: "1 to 100 names of top-level fields, separated by commas", found: text)
        }
        return keys
    }
}
