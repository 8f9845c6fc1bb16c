import Foundation
import MartletPostgres

/// Reads a space's events for one question, all from the same snapshot: from blocks, and from the table for events that
/// are in no block.
///
/// A small number of events is kept in memory for the next pass; otherwise each pass reads them again.
final class BlockScan {
    /// Limits for one question: persons, links between persons, and profiles.
    static let maximumPersons = 4_000_000
    static let maximumLinks = 4_000_000
    static let maximumProfiles = 20_000_000
    /// Maximum number of separate ranges of time without blocks.
    static let maximumRanges = 100
    /// Maximum number of events kept in memory for the next pass.
    static let maximumKept = 4_000_000
    private static let blocksPerStatement = 32

    let reader: BlockReader
    private var people: BlockPeople?
    private var ids: [Int] = []
    private var profiles: [BlockProfiles] = []
    private var profileCount = 0
    private var loose: [BlockPart] = []
    private var kept: [BlockPart]? = []
    private var keptEvents = 0
    private var isRead = false

    var request: BlockRequest { reader.request }
    /// The highest number of a person. Persons are numbered from 1.
    var personCount: Int { people?.count ?? 0 }

    /// - Throws: `NotInBlocks`, `BrokenBlock`, as `BlockReader`.
    static func start(_ reader: BlockReader) async throws -> BlockScan {
        guard try await reader.hasBlocks() else { throw NotInBlocks() }
        let scan = BlockScan(reader)
        if reader.request.withPersons { scan.people = try await BlockPeople.read(reader, limit: maximumLinks) }
        let ranges = try await scan.readBlocks()
        if let (block, parts) = try await reader.looseEvents(received: ranges, as: scan.profiles.count) {
            try scan.add(BlockProfiles.persons(block.persons)) { dimension, _, count in
                try block.terms[dimension.rawValue].withUnsafeBytes { try BlockTerms($0, count: count) }
            }
            scan.loose = parts
        }
        return scan
    }

    private init(_ reader: BlockReader) {
        self.reader = reader
    }

    /// Calls `body` for each part with requested events. Some of the events may be outside the span.
    ///
    /// - Throws: as `body` and `start`.
    func forEach(_ body: (BlockPart, BlockProfiles) throws -> Void) async throws {
        for part in loose { try body(part, profiles[part.block]) }
        if isRead, let kept {
            for (number, part) in kept.enumerated() {
                if number % 64 == 63 { try await reader.checkDeadlineAndYield() }
                try body(part, profiles[part.block])
            }
            return
        }
        let reader = reader
        var rows = try await reader.partRows(of: blockIDs(from: 0))
        for start in stride(from: 0, to: ids.count, by: Self.blocksPerStatement) {
            // PostgreSQL reads the next blocks while these are processed.
            let following = blockIDs(from: start + Self.blocksPerStatement)
            async let next = reader.partRows(of: following)
            for part in try await reader.parts(rows, of: blockIDs(from: start), from: start) {
                keep(part)
                try body(part, profiles[part.block])
            }
            rows = try await next
        }
        isRead = true
    }

    /// The ids of the blocks read by one statement.
    private func blockIDs(from start: Int) -> [Int] { Array(ids.dropFirst(start).prefix(Self.blocksPerStatement)) }

    private func keep(_ part: BlockPart) {
        guard !isRead, kept != nil else { return }
        keptEvents += part.events
        if keptEvents > Self.maximumKept { kept = nil } else { kept?.append(part) }
    }

    // MARK: Blocks

    /// Reads the profiles of all blocks; returns the ranges of `received` that have no block.
    private func readBlocks() async throws -> [Range<Date>] {
        var ranges: [Range<Date>] = []
        var after = Date.distantPast
        while true {
            let rows = try await reader.blockRows(after: after, limit: Self.blocksPerStatement)
            for row in rows {
                after = try row.decode(1)
                if try row.decode(3) {
                    ids.append(try row.decode(0))
                    try readProfiles(row)
                } else {
                    let end: Date = try row.decode(2)
                    if let last = ranges.last, last.upperBound == after {
                        ranges[ranges.count - 1] = last.lowerBound..<end
                    } else {
                        ranges.append(after..<end)
                    }
                }
            }
            guard ranges.count <= Self.maximumRanges else { throw NotInBlocks() }
            if rows.count < Self.blocksPerStatement { break }
        }
        return ranges + [try await reader.unplanned()..<Date.distantFuture]
    }

    private func readProfiles(_ row: PostgresRow) throws {
        guard request.withProfiles else { return profiles.append(BlockProfiles()) }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let persons = try row.withBytes(4) { bytes throws(BrokenBlock) in try BlockProfiles.persons(bytes ?? none) }
        try add(persons) { _, index, count in
            try row.withBytes(5 + index) { bytes throws(BrokenBlock) in try BlockTerms(bytes ?? none, count: count) }
        }
    }

    /// - Parameter terms: Reads the terms of a dimension, given its index in the request and the number of profiles.
    private func add(_ persons: [UInt64], terms: (BlockDimension, Int, Int) throws -> BlockTerms) throws {
        var found = BlockProfiles(count: persons.count)
        if request.withPersons { found.persons = people?.numbers(of: persons) ?? [] }
        for (index, dimension) in request.dimensions.enumerated() {
            found.terms.append(try terms(dimension, index, persons.count))
        }
        profiles.append(found)
        profileCount += persons.count
        guard personCount <= Self.maximumPersons, profileCount <= Self.maximumProfiles else { throw NotInBlocks() }
    }
}
