import Foundation
import MartletPostgres

extension BlockStore {
    private struct Planned {
        let id: Int
        let space: Int32
        let from: Date
        let to: Date
    }

    /// Builds the latest planned block.
    ///
    /// - Parameter others: The ids of blocks to skip.
    /// - Returns: false if no block is left, or another instance is building one.
    /// - Throws: `FailedBlock`, `PostgresError`.
    func buildNext(except others: [Int] = []) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            guard try await !transaction.query("SELECT FROM analytics.block_reach FOR UPDATE SKIP LOCKED").isEmpty,
                let row = try await transaction.query(
                    """
                    SELECT id, space, received_from, received_to FROM analytics.blocks WHERE NOT is_built AND events <= \(Self.maximumEvents)
                        AND id <> ALL (\(others)) ORDER BY received_from DESC LIMIT 1
                    """
                ).first
            else { return false }
            let planned = Planned(
                id: try row.decode(0), space: try row.decode(1), from: try row.decode(2), to: try row.decode(3))
            do {
                try await build(planned, transaction)
            } catch {
                throw FailedBlock(id: planned.id, cause: error)
            }
            return true
        }
    }

    private func build(_ planned: Planned, _ transaction: PostgresTransaction) async throws {
        let rows = try await events(of: planned, transaction)
        guard !rows.isEmpty else {
            try await transaction.execute("DELETE FROM analytics.blocks WHERE id = \(planned.id)")
            return
        }
        let block = EventBlock(rows.map { BlockEvent($0) })
        try await Self.write(block, of: rows.count, as: planned, transaction)
        try await Self.write(block.parts, as: planned, transaction)
        try await Self.writeProperties(of: block, rows, as: planned, transaction)
    }

    /// The block's events, with their properties as text in the last column. Properties beyond the limit are NULL.
    private func events(of block: Planned, _ transaction: PostgresTransaction) async throws -> PostgresRows {
        var query: PostgresQuery =
            """
            SELECT \(BlockEvent.columns),
                CASE WHEN sum(octet_length(e.text)) OVER (ROWS UNBOUNDED PRECEDING) <= \(maximumPropertiesInBytes) THEN e.text END
            FROM (
                SELECT *, properties::text AS text FROM analytics.events
                WHERE received >= \(block.from) AND received < \(block.to) AND space = \(block.space) OFFSET 0) AS e
            """
        query.isPrepared = false
        return try await transaction.query(query, timeout: Self.timeout)
    }

    private static func write(
        _ block: EventBlock, of events: Int, as planned: Planned, _ transaction: PostgresTransaction
    ) async throws {
        func terms(_ dimension: BlockDimension) -> [UInt8] { block.terms[dimension.rawValue] }
        try await transaction.execute(
            """
            UPDATE analytics.blocks SET is_built = true, events = \(events), first_at = \(Int(block.parts.lazy.map(\.firstAt).min() ?? 0)),
                last_at = \(Int(block.parts.lazy.map(\.lastAt).max() ?? 0)), persons = \(block.persons), release = \(terms(.release)), os = \(terms(.os)),
                device = \(terms(.device)), configuration = \(terms(.configuration)), variants = \(terms(.variants)), country = \(terms(.country))
            WHERE id = \(planned.id)
            """)
    }

    /// Sends all columns as a single parameter, from which each row takes its part.
    private static func write(_ parts: [BlockPart], as planned: Planned, _ transaction: PostgresTransaction)
        async throws
    {
        var bytes = Slices()
        let profiles = parts.map { bytes.add($0.profiles) }, times = parts.map { bytes.add($0.times) }
        try await transaction.execute(
            """
            INSERT INTO analytics.block_names (block, name, is_screen, events, first_at, last_at, profiles, times)
            SELECT \(planned.id), name, screen = 1, events, first_at, last_at, substring(bytes FROM profiles_at::int FOR profiles_length::int),
                substring(bytes FROM times_at::int FOR times_length::int)
            FROM (SELECT \(bytes.all)::bytea AS bytes OFFSET 0) AS given, unnest(
                \(parts.map { Int($0.name) }), \(parts.map { $0.isScreen ? 1 : 0 }), \(parts.map(\.events)), \(parts.map { Int($0.firstAt) }),
                \(parts.map { Int($0.lastAt) }), \(profiles.map(\.place)), \(profiles.map(\.length)), \(times.map(\.place)), \(times.map(\.length)))
                AS p (name, screen, events, first_at, last_at, profiles_at, profiles_length, times_at, times_length)
            """, timeout: timeout)
    }

    private static func writeProperties(
        of block: EventBlock, _ rows: PostgresRows, as planned: Planned, _ transaction: PostgresTransaction
    ) async throws {
        var bytes = Slices()
        var (names, screens, paths): ([Int], [Int], [String]) = ([], [], [])
        var contents: [(place: Int, length: Int)] = []
        for (part, order) in zip(block.parts, block.orders) {
            var columns = PropertyColumns()
            for index in order { rows[index].withBytes(BlockEvent.columnCount) { columns.add($0) } }
            for (path, content) in columns.contents() {
                names.append(Int(part.name))
                screens.append(part.isScreen ? 1 : 0)
                paths.append(path)
                contents.append(content.map { bytes.add($0) } ?? (0, 0))
            }
            try Task.checkCancellation()
            await Task.yield()
        }
        guard !names.isEmpty else { return }
        try await transaction.execute(
            """
            INSERT INTO analytics.block_properties (block, name, is_screen, path, content)
            SELECT \(planned.id), name, screen = 1, path, CASE WHEN place > 0 THEN substring(bytes FROM place::int FOR length::int) END
            FROM (SELECT \(bytes.all)::bytea AS bytes OFFSET 0) AS given, unnest(
                \(names), \(screens), \(paths), \(contents.map(\.place)), \(contents.map(\.length))) AS p (name, screen, path, place, length)
            """, timeout: timeout)
    }
}

/// A block that could not be built.
struct FailedBlock: Error {
    let id: Int
    let cause: any Error
}

/// Byte strings appended to each other, so that they can be sent as one parameter.
private struct Slices {
    private(set) var all: [UInt8] = []

    /// Appends `bytes` and returns its position, counted from 1 as by `substring`.
    mutating func add(_ bytes: [UInt8]) -> (place: Int, length: Int) {
        defer { all.append(contentsOf: bytes) }
        return (all.count + 1, bytes.count)
    }
}

extension BlockEvent {
    /// Columns of `analytics.events AS e`.
    static let columns: PostgresQuery =
        "e.person, e.at, e.name, e.kind IN (2, 3), e.release, e.os, e.device, e.configuration, e.variants, e.country"
    static let columnCount = 10

    /// Reads a row of `columns`. Decodes the bytes directly, because there are very many rows.
    init(_ row: PostgresRow) {
        person = UInt64(bitPattern: row.number(0, Int64.self))
        at = row.number(1, Int64.self)
        name = row.number(2, Int32.self)
        isScreen = row.number(3, Int8.self) != 0
        terms = SIMD8()
        for dimension in BlockDimension.allCases.indices { terms[dimension] = row.number(4 + dimension, Int32.self) }
    }
}

extension PostgresRow {
    /// A number in PostgreSQL's binary format; 0 if the width differs. Times are microseconds since 2000.
    func number<Number: FixedWidthInteger>(_ column: Int, _ type: Number.Type) -> Number {
        withBytes(column) { bytes in
            guard let bytes, bytes.count == MemoryLayout<Number>.size else { return 0 }
            return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
        }
    }
}
