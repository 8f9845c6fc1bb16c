import Foundation

/// A query that the device answers by itself, from objects in memory.
struct LocalQuery: Sendable {
    private let filter: LocalFilter
    private let orders: [(path: [String], isDescending: Bool)]
    private let skipped: Int
    private let limit: Int

    /// - Throws: ``MartletError/Code/unsupportedOffline`` for what needs the server.
    init<Value: Storable>(_ query: Query<Value>) throws {
        _ = try query.parameters()
        guard query.includedPaths.isEmpty else { throw LocalFilter.unsupported("include") }
        guard !query.includesRemoved else { throw LocalFilter.unsupported("deleted") }
        filter = try LocalFilter(try query.filter())
        orders = query.sortOrders.map { ($0.field.split(separator: ".").map(String.init), $0.isDescending) }
        skipped = max(0, query.skippedCount)
        // As many as the server answers.
        limit = max(0, min(query.maximumCount ?? 100, 1_000))
    }

    func count(_ objects: some Sequence<JSON>) -> Int { objects.reduce(0) { filter.matches($1) ? $0 + 1 : $0 } }

    func answer(_ objects: some Sequence<JSON>) -> [JSON] {
        var found: [(keys: [SortKey], id: String, object: JSON)] = []
        for object in objects where filter.matches(object) {
            let keys = orders.map { order in SortKey(order.path.reduce(Optional(object)) { $0?[$1] }) }
            found.append((keys, object["_id"]?.stringValue ?? "", object))
        }
        found.sort { left, right in
            for (index, order) in orders.enumerated() {
                let comparison = left.keys[index].compare(right.keys[index])
                if comparison != 0 { return (comparison < 0) != order.isDescending }
            }
            return left.id < right.id
        }
        return found.dropFirst(skipped).prefix(limit).map(\.object)
    }
}

/// A value prepared for comparisons in the order in which the server sorts.
struct SortKey: Sendable {
    /// PostgreSQL sorts an empty array before everything else.
    enum Rank: Int, Sendable { case emptyArray, null, string, number, bool, array, object, missing }

    let rank: Rank
    private let number: Double
    private let text: String
    private let value: JSON?

    init(_ value: JSON?) {
        var number = 0.0, text = "", rest: JSON?
        switch value {
        case nil: rank = .missing
        case .null: rank = .null
        case .string(let string): (rank, text) = (.string, string)
        case .number(let digits): (rank, number, rest) = (.number, digits.double, value)
        case .bool(let bool): (rank, number) = (.bool, bool ? 1 : 0)
        case .array(let elements): (rank, rest) = (elements.isEmpty ? .emptyArray : .array, value)
        case .object: (rank, rest) = (.object, value)
        }
        (self.number, self.text, self.value) = (number, text, rest)
    }

    /// Negative if this comes first, 0 if they are equal.
    func compare(_ other: SortKey) -> Int {
        if rank != other.rank { return rank.rawValue - other.rank.rawValue }
        switch rank {
        case .null, .missing, .emptyArray: return 0
        // Swift compares strings by normalized scalars, the server by bytes.
        case .string:
            if text == other.text, text.utf8.elementsEqual(other.text.utf8) { return 0 }
            return text.utf8.lexicographicallyPrecedes(other.text.utf8) ? -1 : 1
        case .bool: return Int(number - other.number)
        case .number where number != other.number: return number < other.number ? -1 : 1
        case .number: return JSONOrder.compare(value, other.value)
        case .array: return Self.compare(value?.arrayValue ?? [], other.value?.arrayValue ?? [])
        case .object: return Self.compare(value?.objectValue ?? [:], other.value?.objectValue ?? [:])
        }
    }

    /// As PostgreSQL compares `jsonb`: what has fewer parts comes first, then the first part that differs decides.
    private static func compare(_ left: [JSON], _ right: [JSON]) -> Int {
        if left.count != right.count { return left.count - right.count }
        for (left, right) in zip(left, right) {
            let comparison = SortKey(left).compare(SortKey(right))
            if comparison != 0 { return comparison }
        }
        return 0
    }

    private static func compare(_ left: [String: JSON], _ right: [String: JSON]) -> Int {
        if left.count != right.count { return left.count - right.count }
        // The order in which PostgreSQL stores members: short names first.
        func parts(_ members: [String: JSON]) -> [JSON] {
            let names = members.keys.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
            return names.flatMap { [.string($0), members[$0] ?? .null] }
        }
        return compare(parts(left), parts(right))
    }
}
