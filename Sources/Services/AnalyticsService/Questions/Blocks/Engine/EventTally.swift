/// Counts events by interval and value, and who had them.
///
/// Two looks at the events: counts, from which it follows which values have a place, then bits of persons for each interval and place, of as many
/// persons at a time as `maximumBits` are enough for.
struct EventTally {
    static let maximumCells = 4_000_000
    static let maximumBits = 256 << 20
    static let maximumPasses = 8

    /// What is told apart.
    enum Group: Equatable {
        case none
        /// Names of events.
        case name
        /// Of the request's dimensions.
        case dimension(Int)
        /// Of the request's paths.
        case property(Int)
    }

    /// Only events with this term, or with this text at a path.
    enum Filter {
        case term(dimension: Int, Int32)
        case text(path: Int, String)
    }

    /// A value as it is found in events.
    enum Value: Hashable {
        case none
        case term(Int32)
        case text(String)
    }

    let group: Group
    let filters: [Filter]
    let bounds: [Int64]
    private(set) var values: [Value] = []
    /// By value, then interval.
    private(set) var counts: [Int] = []
    private var numbers: [Value: Int] = [:]
    /// What profiles say, and of which block.
    private var offsets: [Int32] = []
    private var offsetsBlock = -1
    private let profiles = Scratch<UInt32>()
    private let times = Scratch<Int64>()
    private let places = Scratch<UInt32>()
    private let found = Scratch<UInt32>()
    private let cells = Scratch<Int32>()

    init(_ group: Group, _ filters: [Filter], bounds: [Int64]) {
        (self.group, self.filters, self.bounds) = (group, filters, bounds)
    }

    var intervalCount: Int { bounds.count - 1 }

    /// False: there are too many values.
    mutating func count(_ scan: BlockScan) async throws -> Bool {
        var isTooLarge = false
        var tally = self
        try await scan.forEach { part, block in
            guard !isTooLarge else { return }
            try tally.placeEvents(of: part, block)
            isTooLarge = tally.counts.count > Self.maximumCells
            let list = tally.cells.numbers
            tally.counts.withUnsafeMutableBufferPointer { counts in
                for index in 0..<part.events where list[index] >= 0 { counts[Int(list[index])] &+= 1 }
            }
        }
        self = tally
        return !isTooLarge
    }

    /// How many persons there are of each interval and place.
    ///
    /// - Parameter placeOf: by value.
    /// - Returns: by place, then interval; nil when it would take too long.
    mutating func people(_ scan: BlockScan, placeOf: [Int], places placeCount: Int) async throws -> [Int]? {
        let cellCount = placeCount * intervalCount
        let persons = scan.personCount + 1
        let wordsPerCell = min((persons + 63) / 64, max(1, Self.maximumBits / 64 / max(1, cellCount)))
        let passes = (persons + wordsPerCell * 64 - 1) / (wordsPerCell * 64)
        guard passes <= Self.maximumPasses else { return nil }
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
                            let place = (placeOf[value] &* intervals &+ interval) &* wordsPerCell &+ (person &- first) &>> 6
                            bits[place] |= 1 &<< UInt64(person & 63)
                        }
                    }
                }
            }
            for cell in 0..<cellCount {
                for word in cell * wordsPerCell..<(cell + 1) * wordsPerCell { people[cell] += bits[word].nonzeroBitCount }
            }
            try await scan.breathe()
        }
        return people
    }

    /// Says for each event of a part in `cells` where it is counted; -1: it is not.
    private mutating func placeEvents(of part: BlockPart, _ block: BlockProfiles) throws {
        let cells = cells.room(for: part.events)
        // Events without a name are none of the values.
        guard group != .name || part.name != 0 else { return cells.update(repeating: -1, count: part.events) }
        let valueOfPart = group == .none ? number(of: .none) : group == .name ? number(of: .term(part.name)) : 0
        if part.firstAt >= bounds[0], let interval = interval(of: part.firstAt), interval == self.interval(of: part.lastAt) {
            cells.update(repeating: Int32(valueOfPart * intervalCount + interval), count: part.events)
        } else {
            let times = times.room(for: part.events)
            try part.readTimes(into: times)
            for index in 0..<part.events { cells[index] = interval(of: times[index]).map { Int32(valueOfPart * intervalCount + $0) } ?? -1 }
        }
        try applyProfiles(to: cells, part, block)
        try applyProperties(to: cells, part)
    }

    private func interval(of at: Int64) -> Int? {
        guard at >= bounds[0], at < bounds[bounds.count - 1] else { return nil }
        var (low, high) = (0, bounds.count - 1)
        while high - low > 1 {
            let middle = (low + high) / 2
            if at < bounds[middle] { high = middle } else { low = middle }
        }
        return low
    }

    private mutating func number(of value: Value) -> Int {
        if let number = numbers[value] { return number }
        numbers[value] = values.count
        values.append(value)
        counts.append(contentsOf: repeatElement(0, count: intervalCount))
        return values.count - 1
    }

    private mutating func applyProfiles(to cells: UnsafeMutablePointer<Int32>, _ part: BlockPart, _ block: BlockProfiles) throws {
        var isNeeded = filters.contains { if case .term = $0 { true } else { false } }
        if case .dimension = group { isNeeded = true }
        guard isNeeded else { return }
        if part.block != offsetsBlock {
            offsets = self.offsets(of: block)
            offsetsBlock = part.block
        }
        let list = profiles.room(for: part.events)
        try part.readProfiles(into: list, below: block.count)
        offsets.withUnsafeBufferPointer { offsets in
            for index in 0..<part.events where cells[index] >= 0 {
                let offset = offsets[Int(list[index])]
                cells[index] = offset < 0 ? -1 : cells[index] &+ offset
            }
        }
    }

    /// How far the cells of a profile's events are from those of the first value; -1: they do not count.
    private mutating func offsets(of block: BlockProfiles) -> [Int32] {
        var offsets = [Int32](repeating: 0, count: block.count)
        if case .dimension(let dimension) = group {
            let values = block.terms[dimension].different.map { term in Int32(number(of: term == 0 ? .none : .term(term)) * intervalCount) }
            for (profile, place) in block.terms[dimension].places.enumerated() { offsets[profile] = values[Int(place)] }
        }
        for case .term(let dimension, let wanted) in filters {
            let place = block.terms[dimension].different.firstIndex(of: wanted).map { UInt32($0) }
            for (profile, found) in block.terms[dimension].places.enumerated() where found != place || place == nil { offsets[profile] = -1 }
        }
        return offsets
    }

    private mutating func applyProperties(to cells: UnsafeMutablePointer<Int32>, _ part: BlockPart) throws {
        for case .text(let path, let wanted) in filters {
            let list = found.room(for: part.events)
            let place = try part.readProperty(path, into: list).firstIndex(of: wanted).map { UInt32($0 + 1) }
            for index in 0..<part.events where list[index] != place || place == nil { cells[index] = -1 }
        }
        guard case .property(let path) = group else { return }
        let list = places.room(for: part.events)
        let texts = try part.readProperty(path, into: list)
        var offsets: [Int32] = [-1]
        offsets.append(contentsOf: repeatElement(-1, count: texts.count))
        for index in 0..<part.events where cells[index] >= 0 {
            let place = Int(list[index])
            // Values have numbers when an event has them that counts.
            if offsets[place] < 0 { offsets[place] = Int32(number(of: place == 0 ? .none : .text(texts[place - 1])) * intervalCount) }
            cells[index] &+= offsets[place]
        }
    }
}
