import MartletPostgres

/// Reads the parts of blocks, with the columns that the question needs.
extension BlockReader {
    func partRows(of blocks: [Int]) async throws -> PostgresRows? {
        guard !blocks.isEmpty else { return nil }
        var conditions: PostgresQuery =
            "n.block = ANY (\(blocks)) AND n.first_at < \(request.last) AND n.last_at >= \(request.first)"
        if let names = request.names { conditions += " AND n.name = ANY (\(names)::integer[])" }
        if let isScreen = request.isScreen { conditions += isScreen ? " AND n.is_screen" : " AND NOT n.is_screen" }
        let bounds = request.bounds.map { Int($0) }
        // Decoding times requires the profiles, so both are read if the events of a part span several intervals.
        let isSplit: PostgresQuery = "width_bucket(n.first_at, \(bounds)) <> width_bucket(n.last_at, \(bounds))"
        return try await query(
            """
            SELECT n.block, n.name, n.is_screen, n.events, n.first_at, n.last_at,
                CASE WHEN \(request.withProfiles || request.withTimes) OR \(isSplit) THEN n.profiles END,
                CASE WHEN \(request.withTimes) OR \(isSplit) THEN n.times END
            FROM analytics.block_names AS n WHERE \(conditions)
            """)
    }

    /// - Parameters:
    ///   - rows: The result of `partRows` for these blocks.
    ///   - first: The index of the first block among those of the question.
    /// - Throws: `NotInBlocks`, as `query`.
    func parts(_ rows: PostgresRows?, of blocks: [Int], from first: Int) async throws -> [BlockPart] {
        guard let rows else { return [] }
        let numbers = Dictionary(uniqueKeysWithValues: zip(blocks, first...))
        var parts = try rows.map { row in
            BlockPart(
                block: numbers[try row.decode(0)] ?? 0, name: try row.decode(1), isScreen: try row.decode(2),
                events: try row.decode(3),
                firstAt: row.number(4, Int64.self), lastAt: row.number(5, Int64.self),
                profiles: try row.decode(6, as: [UInt8]?.self) ?? [],
                times: try row.decode(7, as: [UInt8]?.self) ?? [])
        }
        for path in request.paths { try await addProperty(path, to: &parts, blocks, numbers) }
        return parts
    }

    private struct PartKey: Hashable {
        var block: Int
        var name: Int32
        var isScreen: Bool
    }

    private func addProperty(_ path: [String], to parts: inout [BlockPart], _ blocks: [Int], _ numbers: [Int: Int])
        async throws
    {
        let name = path.joined(separator: ".")
        let ancestors = path.indices.dropFirst().map { path[..<$0].joined(separator: ".") + ".*" }
        let names = request.names.map { "AND p.name = ANY (\($0)::integer[])" as PostgresQuery } ?? ""
        let rows = try await query(
            """
            SELECT p.block, p.name, p.is_screen, p.path, p.content FROM analytics.block_properties AS p
            WHERE p.block = ANY (\(blocks)) AND p.path = ANY (\([name, "*", "*.*"] + ancestors)) \(names)
            """)
        let requested = Set(parts.map { PartKey(block: $0.block, name: $0.name, isScreen: $0.isScreen) })
        var contents: [PartKey: [UInt8]] = [:]
        // Parts with too many paths: a path without a row may still have values.
        var incomplete: Set<PartKey> = []
        for row in rows {
            let key = PartKey(
                block: numbers[try row.decode(0)] ?? 0, name: try row.decode(1), isScreen: try row.decode(2))
            guard requested.contains(key) else { continue }
            let found: String = try row.decode(3)
            if found == name, let content: [UInt8] = try row.decode(4) {
                contents[key] = content
            } else if found == "*" {
                incomplete.insert(key)
            } else {
                throw NotInBlocks()
            }
        }
        guard incomplete.allSatisfy({ contents[$0] != nil }) else { throw NotInBlocks() }
        for index in parts.indices {
            parts[index].properties.append(
                contents[PartKey(block: parts[index].block, name: parts[index].name, isScreen: parts[index].isScreen)])
        }
    }
}
