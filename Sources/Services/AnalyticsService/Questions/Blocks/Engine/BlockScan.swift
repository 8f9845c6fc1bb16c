import Foundation
import MartletPostgres

/// Reads a space's events for one question: from blocks, and what is in none from the events, all as of one moment.
///
/// It is made and used within one transaction that sees no change. What is read is kept for the next look when it is not much, else read again.
final class BlockScan {
    /// Events that are in no block, of those that are asked for: more are asked by SQL.
    static let maximumLoose = 300_000
    static let maximumRanges = 100
    /// Persons of one question.
    static let maximumPersons = 4_000_000
    static let maximumLinks = 4_000_000
    /// Events that are kept for the next look.
    static let maximumKept = 4_000_000
    private static let blocksPerStatement = 32

    let request: BlockRequest
    private let span: Span
    private let transaction: PostgresTransaction
    private let end: ContinuousClock.Instant
    private var people: BlockPeople?
    private var ids: [Int] = []
    private(set) var profiles: [BlockProfiles] = []
    private var loose: [BlockPart] = []
    private var kept: [BlockPart]? = []
    private var keptEvents = 0
    private var isRead = false

    /// Persons have numbers from 1 to this.
    var personCount: Int { people?.count ?? 0 }

    /// - Returns: nil when there are no blocks of it, or too much is in none.
    static func start(
        _ request: BlockRequest, in span: Span, until end: ContinuousClock.Instant, _ transaction: PostgresTransaction
    ) async throws -> BlockScan? {
        let scan = BlockScan(request, span, end, transaction)
        guard try await scan.hasBlocks() else { return nil }
        if request.withPersons {
            guard let people = try await BlockPeople.read(span.space, limit: maximumLinks, transaction) else { return nil }
            scan.people = people
        }
        guard let ranges = try await scan.readBlocks(), try await scan.readLoose(ranges) else { return nil }
        return scan
    }

    private init(_ request: BlockRequest, _ span: Span, _ end: ContinuousClock.Instant, _ transaction: PostgresTransaction) {
        self.request = request
        self.span = span
        self.end = end
        self.transaction = transaction
    }

    /// All events that are asked for, part by part; some may be beyond the span.
    ///
    /// - Throws: `BrokenBlock`, `UnkeptProperty`, `BlockTimeout`, what `body` throws; `PostgresError`.
    func forEach(_ body: (BlockPart, BlockProfiles) throws -> Void) async throws {
        for part in loose { try body(part, profiles[part.block]) }
        if isRead, let kept {
            for (number, part) in kept.enumerated() {
                if number % 64 == 63 { try await breathe() }
                try body(part, profiles[part.block])
            }
            return
        }
        let transaction = transaction
        var rows = try await Self.rows(partsQuery(from: 0), end - .now, transaction)
        for start in stride(from: 0, to: ids.count, by: Self.blocksPerStatement) {
            try await breathe()
            // PostgreSQL reads the next ones while these are looked at.
            let (following, left) = (partsQuery(from: start + Self.blocksPerStatement), end - .now)
            async let next = Self.rows(following, left, transaction)
            for part in try await parts(rows, start..<min(ids.count, start + Self.blocksPerStatement)) {
                keep(part)
                try body(part, profiles[part.block])
            }
            rows = try await next
        }
        isRead = true
    }

    private func keep(_ part: BlockPart) {
        guard !isRead, kept != nil else { return }
        keptEvents += part.events
        if keptEvents > Self.maximumKept { kept = nil } else { kept?.append(part) }
    }

    /// Others have their turn.
    func breathe() async throws {
        try Task.checkCancellation()
        guard ContinuousClock.now < end else { throw BlockTimeout() }
        await Task.yield()
    }

    private func query(_ query: PostgresQuery) async throws -> PostgresRows {
        try await breathe()
        return try await transaction.query(query, timeout: end - .now)
    }

    private var first: Int64 { request.bounds.first ?? 0 }
    private var last: Int64 { request.bounds.last ?? 0 }

    private var isAsked: PostgresQuery {
        """
        b.space = \(span.space.id) AND b.received_to > \(span.start.addingTimeInterval(-QuestionStore.earlier))
            AND (NOT b.is_built OR b.first_at < \(last) AND b.last_at >= \(first))
        """
    }

    private func hasBlocks() async throws -> Bool {
        try await !query("SELECT FROM analytics.blocks AS b WHERE \(isAsked) AND b.is_built LIMIT 1").isEmpty
    }

    /// Reads the profiles of all blocks; returns where there is none, of `received`.
    private func readBlocks() async throws -> [(from: Date, to: Date)]? {
        let tail = try await query(
            """
            SELECT coalesce((SELECT since FROM analytics.block_spaces WHERE space = \(span.space.id)), reached) FROM analytics.block_reach
            """)
        var ranges: [(from: Date, to: Date)] = []
        var after = Date.distantPast
        while true {
            let rows = try await query(
                """
                SELECT b.id, b.received_from, b.received_to, b.is_built, \(request.withProfiles ? "b.persons" : "NULL::bytea" as PostgresQuery)\(columns)
                FROM analytics.blocks AS b WHERE \(isAsked) AND b.received_from > \(after) ORDER BY b.received_from LIMIT 200
                """)
            for row in rows {
                after = try row.decode(1)
                if try row.decode(3) {
                    ids.append(try row.decode(0))
                    profiles.append(try readProfiles(row))
                } else {
                    let end: Date = try row.decode(2)
                    if let last = ranges.last, last.to == after { ranges[ranges.count - 1].to = end } else { ranges.append((after, end)) }
                }
            }
            guard personCount <= Self.maximumPersons, ranges.count <= Self.maximumRanges else { return nil }
            if rows.count < 200 { break }
        }
        guard let from: Date = try tail.first?.decode(0) else { return nil }
        return ranges + [(from, .distantFuture)]
    }

    private var columns: PostgresQuery {
        request.dimensions.reduce(into: PostgresQuery()) { $0 += ", b." + Self.column($1) }
    }

    private static func column(_ dimension: BlockDimension) -> PostgresQuery {
        switch dimension {
        case .release: "release"
        case .os: "os"
        case .device: "device"
        case .configuration: "configuration"
        case .variants: "variants"
        case .country: "country"
        }
    }

    private func readProfiles(_ row: PostgresRow) throws -> BlockProfiles {
        guard request.withProfiles else { return BlockProfiles() }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let persons = try row.withBytes(4) { bytes throws(BrokenBlock) in try BlockProfiles.persons(bytes ?? none) }
        return try makeProfiles(persons) { place in
            try row.withBytes(5 + place) { bytes throws(BrokenBlock) in try BlockProfiles.terms(bytes ?? none, count: persons.count) }
        }
    }

    private func makeProfiles(_ persons: [UInt64], terms: (Int) throws -> BlockTerms) throws -> BlockProfiles {
        var profiles = BlockProfiles(count: persons.count)
        if request.withPersons { profiles.persons = people?.numbers(of: persons) ?? [] }
        for place in request.dimensions.indices { profiles.terms.append(try terms(place)) }
        return profiles
    }

    // MARK: Events that are in no block

    /// False: there are too many.
    private func readLoose(_ ranges: [(from: Date, to: Date)]) async throws -> Bool {
        var received = PostgresQuery()
        for (number, range) in ranges.enumerated() {
            received += (number == 0 ? "" : " OR ") as PostgresQuery
            received += "e.received >= \(range.from) AND e.received < \(range.to)"
        }
        var values = PostgresQuery()
        for path in request.paths { values += ", left(e.properties #>> \(path), 255)" }
        var narrowed = PostgresQuery()
        if let names = request.names { narrowed += " AND e.name = ANY (\(names)::integer[])" }
        if let isScreen = request.isScreen { narrowed += isScreen ? " AND e.kind IN (2, 3)" : " AND e.kind NOT IN (2, 3)" }
        var question: PostgresQuery =
            """
            SELECT \(BlockEvent.columns)\(values) FROM analytics.events AS e
            WHERE \(QuestionStore.within(span)) AND (\(received))\(narrowed) LIMIT \(Self.maximumLoose + 1)
            """
        question.isPrepared = false
        let rows = try await query(question)
        guard rows.count <= Self.maximumLoose else { return false }
        guard !rows.isEmpty else { return true }
        let block = EventBlock(rows.map { BlockEvent($0) })
        try await breathe()
        let persons = try BlockProfiles.persons(block.persons)
        profiles.append(
            try makeProfiles(persons) { place in
                try BlockProfiles.terms(block.terms[request.dimensions[place].rawValue], count: persons.count)
            })
        loose = try block.parts.map { part in
            BlockPart(
                block: profiles.count - 1, name: part.name, isScreen: part.isScreen, events: part.order.count, firstAt: part.firstAt, lastAt: part.lastAt,
                profiles: part.profiles, times: part.times, properties: try request.paths.indices.map { try Self.content(rows, part.order, $0) })
        }
        return personCount <= Self.maximumPersons
    }

    private static func content(_ rows: PostgresRows, _ order: [Int], _ path: Int) throws -> [UInt8]? {
        var numbers: [String: UInt32] = [:]
        var values: [String] = []
        let places = try order.map { index -> UInt32 in
            guard let value: String = try rows[index].decode(BlockEvent.columnCount + path) else { return 0 }
            if let number = numbers[value] { return number }
            values.append(value)
            numbers[value] = UInt32(values.count)
            return UInt32(values.count)
        }
        return values.isEmpty ? nil : BlockColumn.content(values, places: places)
    }

    // MARK: Parts of blocks

    /// Nil: there are none.
    private static func rows(_ query: PostgresQuery?, _ timeout: Duration, _ transaction: PostgresTransaction) async throws -> PostgresRows? {
        guard let query else { return nil }
        return try await transaction.query(query, timeout: timeout)
    }

    private func partsQuery(from start: Int) -> PostgresQuery? {
        guard start < ids.count else { return nil }
        let blocks = Array(ids[start..<min(ids.count, start + Self.blocksPerStatement)])
        var narrowed: PostgresQuery = "n.block = ANY (\(blocks)) AND n.first_at < \(last) AND n.last_at >= \(first)"
        if let names = request.names { narrowed += " AND n.name = ANY (\(names)::integer[])" }
        if let isScreen = request.isScreen { narrowed += isScreen ? " AND n.is_screen" : " AND NOT n.is_screen" }
        let bounds = request.bounds.map { Int($0) }
        // Profiles tell which time an event's is counted from.
        let isCut: PostgresQuery = "width_bucket(n.first_at, \(bounds)) <> width_bucket(n.last_at, \(bounds))"
        return """
            SELECT n.block, n.name, n.is_screen, n.events, n.first_at, n.last_at,
                CASE WHEN \(request.withProfiles || request.withTimes) OR \(isCut) THEN n.profiles END, CASE WHEN \(request.withTimes) OR \(isCut) THEN n.times END
            FROM analytics.block_names AS n WHERE \(narrowed)
            """
    }

    /// - Throws: `UnkeptProperty`.
    private func parts(_ rows: PostgresRows?, _ places: Range<Int>) async throws -> [BlockPart] {
        guard let rows else { return [] }
        let blocks = ids[places]
        let place = Dictionary(uniqueKeysWithValues: zip(blocks, places))
        var parts = try rows.map { row in
            BlockPart(
                block: place[try row.decode(0)] ?? 0, name: try row.decode(1), isScreen: try row.decode(2), events: try row.decode(3), firstAt: row.number(4, Int64.self),
                lastAt: row.number(5, Int64.self), profiles: try row.decode(6, as: [UInt8]?.self) ?? [], times: try row.decode(7, as: [UInt8]?.self) ?? [],
                properties: request.paths.map { _ in nil })
        }
        if !request.paths.isEmpty { try await addProperties(to: &parts, of: Array(blocks), place) }
        return parts
    }

    private struct PartKey: Hashable {
        var block: Int
        var name: Int32
        var isScreen: Bool
    }

    private func addProperties(to parts: inout [BlockPart], of blocks: [Int], _ place: [Int: Int]) async throws {
        let numbers = Dictionary(uniqueKeysWithValues: parts.enumerated().map { (PartKey(block: $1.block, name: $1.name, isScreen: $1.isScreen), $0) })
        for (number, path) in request.paths.enumerated() {
            let name = path.joined(separator: ".")
            let above = path.indices.dropFirst().map { path[..<$0].joined(separator: ".") + ".*" }
            let names = request.names.map { "AND p.name = ANY (\($0)::integer[])" as PostgresQuery } ?? ""
            let rows = try await query(
                """
                SELECT p.block, p.name, p.is_screen, p.path, p.content FROM analytics.block_properties AS p
                WHERE p.block = ANY (\(blocks)) AND p.path = ANY (\([name, "*", "*.*"] + above)) \(names)
                """)
            var (kept, unkept): ([PartKey: [UInt8]], Set<PartKey>) = ([:], [])
            for row in rows {
                let key = PartKey(block: place[try row.decode(0)] ?? 0, name: try row.decode(1), isScreen: try row.decode(2))
                guard numbers[key] != nil else { continue }
                let found: String = try row.decode(3)
                if found == name, let content: [UInt8] = try row.decode(4) { kept[key] = content } else if found != "*" { unkept.insert(key) }
                if found == "*" { others.insert(key) }
            }
            // What has too many paths says nothing of those that it does not name.
            guard unkept.isEmpty, others.allSatisfy({ kept[$0] != nil }) else { throw UnkeptProperty() }
            others = []
            for (key, content) in kept { if let part = numbers[key] { parts[part].properties[number] = content } }
        }
    }

    private var others: Set<PartKey> = []
}

/// There was not enough time.
struct BlockTimeout: Error {}

/// A property is not kept in all blocks that are asked.
struct UnkeptProperty: Error {}
