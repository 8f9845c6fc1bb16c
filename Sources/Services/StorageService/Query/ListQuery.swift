import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// What a list read asks for, from query parameters and filter.
struct ListQuery: Sendable {
    static let defaultLimit = 100
    static let maximumLimit = 1_000
    static let maximumSkip = 1_000_000
    private static let maximumOrderKeys = 4
    private static let known: Set<Substring> = ["order", "limit", "skip", "keys", "count", "deleted"]

    var condition: PostgresQuery?
    /// `ORDER BY` without the words.
    var order: PostgresQuery = "id"
    var skip = 0
    var limit = ListQuery.defaultLimit
    /// The top-level fields to answer with; nil: all.
    var keys: [String]?
    /// Whether `count` is to be the number of all matches.
    var wantsTotal = false
    var includesDeleted = false

    /// - Throws: `invalid-parameter` naming the parameter, `forbidden` naming a hidden field.
    init(_ parameters: Parameters, in scope: QueryScope) throws {
        for name in parameters.map(\.key) where !Self.known.contains(name) {
            throw HTTPProblem(.invalidParameter, "This query parameter is not known.", field: String(name))
        }
        if let text = parameters["skip"] { skip = try Self.integer(text, "skip", in: 0...Self.maximumSkip) }
        if let text = parameters["limit"] { limit = try Self.integer(text, "limit", in: 0...Self.maximumLimit) }
        if let text = parameters["keys"] { keys = try Self.keys(text) }
        if let text = parameters["order"] { order = try Self.order(text, scope.access) }
        if let text = parameters["count"] { wantsTotal = try Self.flag(text, "count") }
        if let text = parameters["deleted"] { includesDeleted = try Self.flag(text, "deleted") }
    }

    /// The page given in the path, `…/{skip}/{limit}`.
    mutating func setPage(skip: String, limit: String) throws {
        self.skip = try Self.integer(skip[...], "skip", in: 0...Self.maximumSkip)
        self.limit = try Self.integer(limit[...], "limit", in: 0...Self.maximumLimit)
    }

    static func integer(_ text: Substring, _ name: String, in range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw HTTPProblem(
                .invalidParameter, "It must be a whole number from \(range.lowerBound) to \(range.upperBound).", field: name)
        }
        return number
    }

    static func flag(_ text: Substring, _ name: String) throws -> Bool {
        switch text {
        case "1", "true": true
        case "0", "false": false
        default: throw HTTPProblem(.invalidParameter, "It must be true or false.", field: name)
        }
    }

    static func keys(_ text: Substring) throws -> [String] {
        let keys = text.split(separator: ",").map(String.init)
        guard !keys.isEmpty, keys.count <= 100, keys.allSatisfy({ !$0.contains(".") && PostgresLiteral($0) != nil }) else {
            throw HTTPProblem(.invalidParameter, "It must be 1 to 100 names of top-level fields.", field: "keys")
        }
        return keys
    }

    /// `name,-age`; `id` follows so that pages never overlap.
    private static func order(_ text: Substring, _ access: Access) throws -> PostgresQuery {
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        guard names.count <= maximumOrderKeys else {
            throw HTTPProblem(.invalidParameter, "At most \(maximumOrderKeys) fields can be ordered by.", field: "order")
        }
        var order = try names.map { name -> PostgresQuery in
            let target: Target
            do {
                target = try Target(String(name.hasPrefix("-") ? name.dropFirst() : name))
            } catch {
                throw HTTPProblem(.invalidParameter, "This is not a field's name or dotted path.", field: "order")
            }
            try access.check(target)
            return name.hasPrefix("-") ? "\(target.expression) DESC" : target.expression
        }
        order.append("id")
        return order.joined(separator: ", ")
    }
}
