import Foundation

/// A query that the device answers by itself, from objects in memory.
struct LocalQuery: Sendable {
    private let filter: LocalFilter
    private let isDescending: [Bool]
    /// The distance to sort by; nil if the query has another order or none.
    private let distance: LocalFilter.Measure?
    /// The fields that the filter reads, then those to sort by.
    private let paths: [String]
    private let skipped: Int
    private let limit: Int

    /// - Throws: ``MartletError/Code/unsupportedOffline`` if only the server can answer the query.
    init<Value: Storable>(_ query: Query<Value>) throws {
        _ = try query.parameters()
        guard query.includedPaths.isEmpty else { throw LocalFilter.unsupported("include") }
        guard !query.includesRemoved else { throw LocalFilter.unsupported("deleted") }
        filter = try LocalFilter(try query.filter())
        isDescending = query.sortOrders.map(\.isDescending)
        distance = query.sortOrders.isEmpty ? filter.distance : nil
        paths = filter.paths + query.sortOrders.map(\.field)
        skipped = max(0, min(query.skippedCount, 1_000_000))
        // The same default and maximum as on the server.
        limit = max(0, min(query.maximumCount ?? 100, 1_000))
    }

    func count(_ table: inout OfflineTable) -> Int {
        let (fields, places) = (table.fields(paths), table.places(filter.placePaths))
        return table.rows.indices.reduce(0) { count, index in
            guard table.rows[index] != nil,
                filter.matches(.init(fields: fields, places: places, index: index))
            else { return count }
            return count + 1
        }
    }

    func answer(_ table: inout OfflineTable) -> [JSON] {
        let (fields, places) = (table.fields(paths), table.places(filter.placePaths))
        let keys = Array(fields[filter.paths.count...])
        var best = Best(count: skipped + limit, keys: keys, isDescending: isDescending, ids: table.ids)
        for index in table.rows.indices where table.rows[index] != nil {
            let row = LocalFilter.Row(fields: fields, places: places, index: index)
            if filter.matches(row) { best.insert(index, distance?(row) ?? 0) }
        }
        return best.candidates.dropFirst(skipped).compactMap { table.rows[$0.index] }
    }
}

/// The first `count` rows in sort order. Most rows of a large collection need one comparison: with the last candidate.
private struct Best {
    struct Candidate {
        let index: Int
        /// 0 unless the query sorts by distance.
        let distance: Double
        let keys: [SortKey]
    }

    let count: Int
    /// The fields to sort by, one for each row.
    let keys: [[JSON?]]
    let isDescending: [Bool]
    let ids: [String]
    private(set) var candidates: [Candidate] = []

    init(count: Int, keys: [[JSON?]], isDescending: [Bool], ids: [String]) {
        (self.count, self.keys, self.isDescending, self.ids) = (count, keys, isDescending, ids)
    }

    mutating func insert(_ index: Int, _ distance: Double) {
        if candidates.count >= count {
            guard let last = candidates.last, comparison(of: index, distance, with: last) < 0 else { return }
            candidates.removeLast()
        }
        var low = 0, high = candidates.count
        while low < high {
            let middle = (low + high) / 2
            if comparison(of: index, distance, with: candidates[middle]) > 0 { low = middle + 1 } else { high = middle }
        }
        let candidate = Candidate(index: index, distance: distance, keys: keys.map { SortKey($0[index]) })
        candidates.insert(candidate, at: low)
    }

    private func comparison(of index: Int, _ distance: Double, with other: Candidate) -> Int {
        if distance != other.distance { return distance < other.distance ? -1 : 1 }
        for order in keys.indices {
            let comparison = SortKey(keys[order][index]).compare(other.keys[order])
            if comparison != 0 { return isDescending[order] ? -comparison : comparison }
        }
        // Ids are ASCII.
        return ids[index] == ids[other.index] ? 0 : ids[index] < ids[other.index] ? -1 : 1
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

    /// As PostgreSQL compares `jsonb`: a value with fewer parts comes first; otherwise the first different part
    /// decides.
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
