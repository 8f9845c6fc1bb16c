import MartletPostgres
import Synchronization

/// Slow lists and summaries, grouped by the shape of the query, without any values. Kept in the memory of this copy of
/// the service until `SlowQueries` takes them.
///
/// Times include everything that the service waited for, so a busy database makes every shape slow.
final class AdviceStore: Sendable {
    static let threshold: Duration = .milliseconds(50)
    static let maximumShapes = 500

    struct Shape: Hashable {
        let space: AppSchema
        let collection: CollectionName
        let uses: [IndexUse]
        /// The index uses of the rule for `find`, as it applies to the caller.
        var ruleUses: [IndexUse] = []
        var order: [String] = []
    }

    struct Figures {
        var count = 0
        var total: Duration = .zero
        var slowest: Duration = .zero
    }

    /// Advice about a shape, as returned by the management call.
    struct Advice: Codable, Sendable {
        /// The fields of the filter and how they are used: `age ordered`, `title prefix`, …
        var filter: [String]
        /// The same for the collection's rule, as it applied to the caller; nil if it restricted nothing.
        var rule: [String]?
        var order: [String]
        var count: Int
        var meanMilliseconds: Int
        var slowestMilliseconds: Int
        /// The body of the call that creates a suitable index; nil if no index would help, or if it exists.
        var index: Suggestion?
    }

    struct Suggestion: Codable, Sendable {
        var kind: String
        var fields: [String]
    }

    private let shapes = Mutex<[Shape: Figures]>([:])

    func record(_ query: ListQuery, in scope: QueryScope, took duration: Duration) {
        guard duration >= Self.threshold, let filter = try? query.filter(in: scope) ?? Filter(condition: "TRUE") else {
            return
        }
        record(filter, order: (query.order ?? []).map(\.text), in: scope, took: duration)
    }

    /// The order of a summary is computed from its result, so no index can help.
    func record(_ query: some SummaryQuery, in scope: QueryScope, took duration: Duration) {
        guard duration >= Self.threshold, let filter = try? query.condition(query.filter, scope) else { return }
        record(filter, order: [], in: scope, took: duration)
    }

    private func record(_ filter: Filter, order: [String], in scope: QueryScope, took duration: Duration) {
        // Compiles the rule again, but only after a slow query.
        let rule = scope.access.uses(of: .find)
        let shape = Shape(
            space: scope.space, collection: scope.collection, uses: Self.distinct(filter.uses),
            ruleUses: Self.distinct(rule.uses), order: order)
        record(shape, took: duration)
        // Each collection is charged the time of the whole query, because the time of a part is not known.
        for (collection, uses) in filter.usesElsewhere.merging(rule.usesElsewhere, uniquingKeysWith: { $0 + $1 }) {
            let shape = Shape(space: scope.space, collection: collection, uses: Self.distinct(uses))
            if Self.suggestion(for: shape) != nil { record(shape, took: duration) }
        }
    }

    /// At most 10, sorted.
    private static func distinct(_ uses: [IndexUse]) -> [IndexUse] {
        let sorted = Set(uses).sorted { ($0.field, $0.kind.rawValue) < ($1.field, $1.kind.rawValue) }
        return Array(sorted.prefix(10))
    }

    private func record(_ shape: Shape, took duration: Duration) {
        add([shape: Figures(count: 1, total: duration, slowest: duration)])
    }

    private func add(_ more: [Shape: Figures]) {
        shapes.withLock { shapes in
            for (shape, added) in more {
                // Evicts the least frequent shape.
                if shapes[shape] == nil, shapes.count >= Self.maximumShapes,
                    let least = shapes.min(by: { $0.value.count < $1.value.count })
                {
                    shapes[least.key] = nil
                }
                var figures = shapes[shape] ?? Figures()
                figures.count += added.count
                figures.total += added.total
                figures.slowest = max(figures.slowest, added.slowest)
                shapes[shape] = figures
            }
        }
    }

    /// Everything recorded since the last call.
    func takeAll() -> [Shape: Figures] {
        shapes.withLock { shapes in
            defer { shapes = [:] }
            return shapes
        }
    }

    /// Adds back figures that were taken but could not be stored.
    func restore(_ taken: [Shape: Figures]) { add(taken) }

    /// Ordered by total time, slowest first.
    func list(of collection: CollectionName, in space: AppSchema) -> [Advice] {
        let own = shapes.withLock { $0.filter { $0.key.space == space && $0.key.collection == collection } }
        return own.sorted { $0.value.total > $1.value.total }.map { Self.advice(about: $0, $1) }
    }

    static func advice(about shape: Shape, _ figures: Figures) -> Advice {
        Advice(
            filter: texts(shape.uses),
            rule: shape.ruleUses.isEmpty ? nil : texts(shape.ruleUses),
            order: shape.order, count: figures.count,
            meanMilliseconds: milliseconds(figures.total) / max(1, figures.count),
            slowestMilliseconds: milliseconds(figures.slowest),
            index: suggestion(for: shape))
    }

    private static func texts(_ uses: [IndexUse]) -> [String] { uses.map { "\($0.field) \($0.kind.rawValue)" } }

    /// The index that would help; nil if none would. Geo, text and prefix conditions need an index of their own kind.
    /// Otherwise suggests one that supports equality together with the order, or the start of a range.
    ///
    /// Equality in a rule is not part of the index: only equality in a list's own filter can use it (`IndexBranches`).
    static func suggestion(for shape: Shape) -> Suggestion? {
        let uses = shape.uses + shape.ruleUses
        for kind in [IndexUse.Kind.geo, .text, .prefix] {
            if let use = uses.first(where: { $0.kind == kind }) {
                return Suggestion(kind: kind.rawValue, fields: [use.field])
            }
        }
        let equal = shape.uses.filter { $0.kind == .equality && $0.field != SystemField.id.rawValue }.map(\.field)
        let ranges = uses.filter { $0.kind == .ordered }.map(\.field)
        // Every collection has indexes for these orders.
        let isIndexed = [["-created"], ["_id"], ["-_id"]].contains(shape.order)
        if !shape.order.isEmpty, !isIndexed || !equal.isEmpty {
            let fields = equal.filter { !shape.order.contains($0) && !shape.order.contains("-" + $0) } + shape.order
            return Suggestion(kind: "ordered", fields: Array(fields.suffix(IndexStore.maximumFields)))
        }
        return ranges.first.map { Suggestion(kind: "ordered", fields: [$0]) }
    }

    static func milliseconds(_ duration: Duration) -> Int {
        Int(duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000)
    }
}
