import MartletCore

/// Counts events and their persons by interval and value.
///
/// The first pass counts events, which decides the values that are listed. Each further pass marks persons in a bit set
/// per interval and listed value, for as many persons as `maximumBits` allow.
struct EventTally {
    static let maximumValues = 200_000
    static let maximumCells = 4_000_000
    static let maximumBits = 256 << 20
    static let maximumPasses = 8

    /// How events are grouped.
    enum Group: Equatable {
        case none
        /// By the name of the event.
        case name
        /// By a dimension, given its index in the request.
        case dimension(Int)
        /// By a property, given its index among the request's paths.
        case property(Int)
    }

    /// Counts only events with this term, or with this text at a path.
    enum Filter {
        case term(dimension: Int, Int32)
        case text(path: Int, ExactText)
    }

    /// A group's value as it occurs in events.
    enum Value: Hashable {
        case none
        case term(Int32)
        case text(ExactText)
    }

    let group: Group
    let filters: [Filter]
    let bounds: [Int64]
    var values: [Value] = []
    /// Number of events by value, then interval.
    var counts: [Int] = []
    var numbers: [Value: Int] = [:]
    /// The result of `offsets(of:)` for the block `offsetsBlock`.
    var offsets: [Int32] = []
    var offsetsBlock = -1
    let profiles = Scratch<UInt32>()
    let times = Scratch<Int64>()
    let groupValues = Scratch<UInt32>()
    let filterValues = Scratch<UInt32>()
    let cells = Scratch<Int32>()

    init(_ group: Group, _ filters: [Filter], bounds: [Int64]) {
        (self.group, self.filters, self.bounds) = (group, filters, bounds)
    }

    var intervalCount: Int { bounds.count - 1 }

    /// - Throws: `NotInBlocks` when there are too many values; as `BlockScan.forEach`.
    mutating func count(_ scan: BlockScan) async throws {
        var tally = self
        try await scan.forEach { part, block in
            try tally.placeEvents(of: part, block)
            let list = tally.cells.numbers
            tally.counts.withUnsafeMutableBufferPointer { counts in
                for index in 0..<part.events where list[index] >= 0 { counts[Int(list[index])] &+= 1 }
            }
        }
        self = tally
    }

    /// Counts the persons of each interval and listed value.
    ///
    /// - Parameters:
    ///   - ranks: The rank of each value, from 0.
    ///   - rankCount: The number of ranks.
    /// - Returns: Counts by rank, then interval.
    /// - Throws: `NotInBlocks` if counting needs more than `maximumPasses`; as `BlockScan.forEach`.
    mutating func people(_ scan: BlockScan, ranks: [Int], rankCount: Int) async throws -> [Int] {
        let cellCount = rankCount * intervalCount
        let persons = scan.personCount + 1
        let wordsPerCell = min((persons + 63) / 64, max(1, Self.maximumBits / 64 / max(1, cellCount)))
        let passes = (persons + wordsPerCell * 64 - 1) / (wordsPerCell * 64)
        guard passes <= Self.maximumPasses else { throw NotInBlocks() }
        var people = [Int](repeating: 0, count: cellCount)
        var tally = self
        let intervals = intervalCount
        for pass in 0..<passes {
            let first = pass * wordsPerCell * 64, end = first + wordsPerCell * 64
            var bits = [UInt64](repeating: 0, count: cellCount * wordsPerCell)
            try await scan.forEach { part, block in
                try tally.placeEvents(of: part, block)
                let list = tally.profiles.room(for: part.events)
                try part.readProfiles(into: list, below: block.count)
                let cells = tally.cells.numbers
                bits.withUnsafeMutableBufferPointer { bits in
                    block.persons.withUnsafeBufferPointer { persons in
                        for index in 0..<part.events where cells[index] >= 0 {
                            let person = Int(persons[Int(list[index])])
                            guard person > 0, person >= first, person < end else { continue }
                            let (value, interval) = Int(cells[index]).quotientAndRemainder(dividingBy: intervals)
                            let word =
                                (ranks[value] &* intervals &+ interval) &* wordsPerCell &+ (person &- first) &>> 6
                            bits[word] |= 1 &<< UInt64(person & 63)
                        }
                    }
                }
            }
            for cell in 0..<cellCount {
                for word in cell * wordsPerCell..<(cell + 1) * wordsPerCell {
                    people[cell] += bits[word].nonzeroBitCount
                }
            }
            try await scan.reader.checkDeadlineAndYield()
        }
        return people
    }
}
