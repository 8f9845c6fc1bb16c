import Foundation
import MartletPostgres

/// Reads the events that are in no block.
extension BlockReader {
    /// Above this number of events, the question is answered by SQL.
    private static let maximumLoose = 300_000

    /// Reads the events into a block in memory, with their values at the request's paths.
    ///
    /// - Parameter number: The index of this block among those of the question.
    /// - Returns: nil if there are no such events.
    /// - Throws: `NotInBlocks`, as `query`.
    func looseEvents(received ranges: [Range<Date>], as number: Int) async throws -> (
        block: EventBlock, parts: [BlockPart]
    )? {
        let rows = try await query(looseQuery(ranges))
        guard rows.count <= Self.maximumLoose else { throw NotInBlocks() }
        guard !rows.isEmpty else { return nil }
        let block = EventBlock(rows.map { BlockEvent($0) })
        try await checkDeadlineAndYield()
        let parts = try zip(block.parts, block.orders).map { part, order in
            var part = part
            part.block = number
            part.properties = try request.paths.indices.map { try Self.content(rows, order, $0) }
            return part
        }
        return (block, parts)
    }

    private func looseQuery(_ ranges: [Range<Date>]) -> PostgresQuery {
        var received = PostgresQuery()
        for (number, range) in ranges.enumerated() {
            received += (number == 0 ? "" : " OR ") as PostgresQuery
            received += "e.received >= \(range.lowerBound) AND e.received < \(range.upperBound)"
        }
        var values = PostgresQuery()
        for path in request.paths { values += ", left(e.properties #>> \(path), 255)" }
        var conditions = PostgresQuery()
        if let names = request.names { conditions += " AND e.name = ANY (\(names)::integer[])" }
        if let isScreen = request.isScreen {
            conditions += isScreen ? " AND e.kind IN (2, 3)" : " AND e.kind NOT IN (2, 3)"
        }
        var query: PostgresQuery =
            """
            SELECT \(BlockEvent.columns)\(values) FROM analytics.events AS e
            WHERE \(QuestionStore.within(span)) AND (\(received))\(conditions) LIMIT \(Self.maximumLoose + 1)
            """
        query.isPrepared = false
        return query
    }

    private static func content(_ rows: PostgresRows, _ order: [Int], _ path: Int) throws -> [UInt8]? {
        var values = ExactTexts()
        let numbers = try order.map { index in
            try rows[index].decode(BlockEvent.columnCount + path, as: String?.self).flatMap { values.number(of: $0) }
                ?? 0
        }
        return values.texts.isEmpty ? nil : BlockColumn.content(values.texts, numbers: numbers)
    }
}
