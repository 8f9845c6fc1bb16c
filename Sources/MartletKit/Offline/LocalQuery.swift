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
        skipped = max(0, min(query.skippedCount, 1_000_000))
        // As many as the server answers.
        limit = max(0, min(query.maximumCount ?? 100, 1_000))
    }

    func count(_ state: OfflineState) -> Int {
        var count = 0
        state.forEachObject { if filter.matches($0) { count += 1 } }
        return count
    }

    func answer(_ state: OfflineState) -> [JSON] {
        var best = Best(count: skipped + limit, orders: orders)
        state.forEachObject { if filter.matches($0) { best.insert($0) } }
        return best.candidates.dropFirst(skipped).map(\.object)
    }
}

/// The first objects in an order. Most of a large collection is compared once, with the last of these.
private struct Best {
    struct Candidate {
        let keys: [SortKey]
        let object: JSON
    }

    let count: Int
    let orders: [(path: [String], isDescending: Bool)]
    private(set) var candidates: [Candidate] = []

    init(count: Int, orders: [(path: [String], isDescending: Bool)]) {
        self.count = count
        self.orders = orders
    }

    mutating func insert(_ object: JSON) {
        let isFull = candidates.count >= count
        if isFull {
            guard let last = candidates.last, comparison(of: object, with: last) < 0 else { return }
            candidates.removeLast()
        }
        var low = 0, high = candidates.count
        while low < high {
            let middle = (low + high) / 2
            if comparison(of: object, with: candidates[middle]) > 0 { low = middle + 1 } else { high = middle }
        }
        candidates.insert(Candidate(keys: orders.map { Self.key(object, $0.path) }, object: object), at: low)
    }

    private static func key(_ object: JSON, _ path: [String]) -> SortKey {
        SortKey(path.count == 1 ? object[path[0]] : path.reduce(Optional(object)) { $0?[$1] })
    }

    private func comparison(of object: JSON, with other: Candidate) -> Int {
        for (order, key) in zip(orders, other.keys) {
            let comparison = Self.key(object, order.path).compare(key)
            if comparison != 0 { return order.isDescending ? -comparison : comparison }
        }
        return SortKey(object["_id"]).compare(SortKey(other.object["_id"]))
    }
}

/// A value prepared for comparisons in the order in which the server sorts.
struct SortKey: Sendable {
    /// PostgreSQL sorts an empty array before everything else.
    enum Rank: Int, Sendable { case emptyArray, null, string, number, bool, array, object, missing }

    let rank: Rank
    /// A number, or 0 and 1 for booleans.
    private let number: Double
    /// The first eight bytes of a text: most comparisons end there.
    private let prefix: UInt64
    private let value: JSON?

    init(_ value: JSON?) {
        self.value = value
        var number = 0.0, prefix: UInt64 = 0
        switch value {
        case nil: rank = .missing
        case .null: rank = .null
        case .string(let text): (rank, prefix) = (.string, Self.prefix(text))
        case .number(let digits): (rank, number) = (.number, digits.double)
        case .bool(let bool): (rank, number) = (.bool, bool ? 1 : 0)
        case .array(let elements): rank = elements.isEmpty ? .emptyArray : .array
        case .object: rank = .object
        }
        (self.number, self.prefix) = (number, prefix)
    }

    private static func prefix(_ text: String) -> UInt64 {
        var prefix: UInt64 = 0, shift: UInt64 = 64
        for byte in text.utf8 {
            shift -= 8
            prefix |= UInt64(byte) << shift
            if shift == 0 { break }
        }
        return prefix
    }

    /// Negative if this comes first, 0 if they are equal.
    func compare(_ other: SortKey) -> Int {
        if rank != other.rank { return rank.rawValue - other.rank.rawValue }
        switch (value, other.value) {
        case (.string(let left), .string(let right)):
            if prefix != other.prefix { return prefix < other.prefix ? -1 : 1 }
            // Swift compares strings by normalized scalars, the server by bytes.
            if left.utf8.elementsEqual(right.utf8) { return 0 }
            return left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
        case (.number(let left), .number(let right)):
            if number != other.number { return number < other.number ? -1 : 1 }
            return left.text == right.text ? 0 : JSONOrder.compare(value, other.value)
        case (.bool, .bool): return Int(number - other.number)
        case (.array(let left), .array(let right)): return Self.compare(left, right)
        case (.object(let left), .object(let right)): return Self.compare(left, right)
        default: return 0
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
