import Foundation
import Logging
import MartletBackground
import MartletCore
import MartletPostgres

/// The slow queries of all copies of the service in the last `retentionInDays` days: `storage.slow_queries`.
///
/// Each copy adds its own slow queries once a minute, and before it gives advice. So advice lacks at most the last
/// minute of the other copies.
struct SlowQueries: PeriodicWork {
    /// How many full days before the current one are kept.
    static let retentionInDays = 7
    /// The limit of a space. Beyond it, only shapes that are already stored for the day are counted.
    private static let maximumShapesPerDay = 1_000
    private static let maximumAdvice = 50

    let postgres: PostgresClient
    let advice: AdviceStore
    let logger: Logger
    let interval: Duration = .seconds(60)

    /// A shape without space and collection, as it is stored.
    private struct StoredShape: Codable {
        struct Use: Codable {
            var field: String
            var kind: IndexUse.Kind
        }

        var uses: [Use]
        var ruleUses: [Use]
        var order: [String]
    }

    func work() async throws {
        try await share()
        try await postgres.execute(
            """
            DELETE FROM storage.slow_queries
            WHERE day < current_date - make_interval(days => \(Int32(Self.retentionInDays)))
            """)
    }

    /// Adds this copy's slow queries since the last call. After an error, the next call adds them.
    func share() async throws {
        let seen = advice.takeAll()
        guard !seen.isEmpty else { return }
        do {
            try await store(seen)
        } catch {
            advice.restore(seen)
            throw error
        }
    }

    private func store(_ seen: [AdviceStore.Shape: AdviceStore.Figures]) async throws {
        let (shapes, figures) = (Array(seen.keys), Array(seen.values))
        let texts = try shapes.map(Self.text)
        let digests = texts.map { Credential.hexDigest(of: $0) }
        let totals = figures.map { AdviceStore.milliseconds($0.total) }
        let slowest = figures.map { AdviceStore.milliseconds($0.slowest) }
        try await postgres.execute(
            """
            WITH n AS (
                SELECT * FROM unnest(
                    \(shapes.map(\.space.schema)), \(shapes.map(\.collection.text)),
                    \(digests), \(texts), \(figures.map(\.count)), \(totals), \(slowest))
                    AS n (schema, collection, digest, shape, count, total, slowest)
            ), used AS (
                SELECT schema, count(*) AS shapes FROM storage.slow_queries
                WHERE day = current_date AND schema IN (SELECT schema FROM n) GROUP BY schema
            )
            INSERT INTO storage.slow_queries AS q
                (schema, day, collection, digest, shape, count, total_milliseconds, slowest_milliseconds)
            SELECT n.schema, current_date, n.collection, n.digest, n.shape, n.count, n.total, n.slowest
            FROM n LEFT JOIN used AS u ON u.schema = n.schema
            WHERE coalesce(u.shapes, 0) < \(Self.maximumShapesPerDay) OR EXISTS (
                SELECT FROM storage.slow_queries AS k
                WHERE (k.schema, k.day, k.collection, k.digest) = (n.schema, current_date, n.collection, n.digest))
            ORDER BY n.schema, n.collection, n.digest
            ON CONFLICT (schema, day, collection, digest) DO UPDATE SET count = q.count + excluded.count,
                total_milliseconds = q.total_milliseconds + excluded.total_milliseconds,
                slowest_milliseconds = greatest(q.slowest_milliseconds, excluded.slowest_milliseconds)
            """)
    }

    /// Advice about a collection's slow queries of all copies, ordered by total time, slowest first.
    func list(of collection: CollectionName, in space: AppSchema) async throws -> [AdviceStore.Advice] {
        try await share()
        let rows = try await postgres.query(
            """
            SELECT min(shape), sum(count)::bigint, sum(total_milliseconds)::bigint, max(slowest_milliseconds)
            FROM storage.slow_queries WHERE schema = \(space.schema) AND collection = \(collection.text)
            GROUP BY digest ORDER BY 3 DESC, digest LIMIT \(Self.maximumAdvice)
            """)
        return try rows.compactMap { row in
            guard let shape = Self.shape(try row.decode(0), of: collection, in: space) else { return nil }
            let figures = AdviceStore.Figures(
                count: try row.decode(1), total: .milliseconds(try row.decode(2, as: Int.self)),
                slowest: .milliseconds(try row.decode(3, as: Int.self)))
            return AdviceStore.advice(about: shape, figures)
        }
    }

    private static func text(of shape: AdviceStore.Shape) throws -> String {
        let stored = StoredShape(
            uses: shape.uses.map { .init(field: $0.field, kind: $0.kind) },
            ruleUses: shape.ruleUses.map { .init(field: $0.field, kind: $0.kind) }, order: shape.order)
        let encoder = JSONEncoder()
        // Equal shapes must have equal digests.
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(stored), as: UTF8.self)
    }

    /// Nil if another version of the service has stored a shape that this one cannot decode.
    private static func shape(
        _ text: String, of collection: CollectionName, in space: AppSchema
    ) -> AdviceStore.Shape? {
        guard let stored = try? JSONDecoder().decode(StoredShape.self, from: Data(text.utf8)) else { return nil }
        return AdviceStore.Shape(
            space: space, collection: collection, uses: stored.uses.map { IndexUse(field: $0.field, kind: $0.kind) },
            ruleUses: stored.ruleUses.map { IndexUse(field: $0.field, kind: $0.kind) }, order: stored.order)
    }
}
