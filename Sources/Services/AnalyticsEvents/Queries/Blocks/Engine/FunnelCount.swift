/// Counts how many persons reached each step of a funnel.
///
/// Each pass takes as many persons as together have at most `maximumEvents` events, collects their events by person,
/// and sorts the events of each by time and step. For each step, the latest start of a path to it is tracked, which is
/// the best one for all later steps.
struct FunnelCount {
    /// Number of events in memory at once, eight bytes each.
    static let maximumEvents = 4_000_000
    /// The low bits of an event's sort key hold its step, the others its time.
    private static let stepBits: Int64 = 4

    let scan: BlockScan
    /// The terms of the steps' names, in order.
    let names: [Int]
    /// In microseconds.
    let window: Int64
    private let profiles = Scratch<UInt32>()
    private let times = Scratch<Int64>()

    init(_ scan: BlockScan, names: [Int], windowInSeconds: Int) {
        self.scan = scan
        self.names = names
        window = Int64(windowInSeconds) * 1_000_000
    }

    /// - Throws: `NotInBlocks` if one person has more than `maximumEvents`; the errors of `BlockScan.forEach`.
    func count() async throws -> [Int] {
        let sizes = try await sizes()
        var reached = [Int](repeating: 0, count: names.count)
        var first = 1
        while first < sizes.count {
            var (end, events) = (first, 0)
            while end < sizes.count, events + Int(sizes[end]) <= Self.maximumEvents {
                events += Int(sizes[end])
                end += 1
            }
            guard end > first else { throw NotInBlocks() }
            try await count(first..<end, events, sizes, &reached)
            first = end
        }
        return reached
    }

    private func step(_ part: BlockPart) -> Int64? { names.firstIndex(of: Int(part.name)).map { Int64($0) } }

    /// An upper bound for the number of each person's events.
    private func sizes() async throws -> [UInt32] {
        var sizes = [UInt32](repeating: 0, count: scan.personCount + 1)
        try await scan.forEach { part, block in
            let list = profiles.room(for: part.events)
            try part.readProfiles(into: list, below: block.count)
            sizes.withUnsafeMutableBufferPointer { sizes in
                block.persons.withUnsafeBufferPointer { persons in
                    for index in 0..<part.events { sizes[Int(persons[Int(list[index])])] &+= 1 }
                }
            }
        }
        return sizes
    }

    private func count(_ range: Range<Int>, _ events: Int, _ sizes: [UInt32], _ reached: inout [Int]) async throws {
        let first = scan.request.first, last = scan.request.last
        // Where each person's events start, and where those collected so far end.
        var starts = [Int](repeating: 0, count: range.count + 1)
        for place in 0..<range.count { starts[place + 1] = starts[place] + Int(sizes[range.lowerBound + place]) }
        var ends = starts
        let keys = Scratch<Int64>()
        let all = keys.room(for: max(1, events))
        try await scan.forEach { part, block in
            guard let step = step(part) else { return }
            let list = profiles.room(for: part.events), at = times.room(for: part.events)
            try part.readProfiles(into: list, below: block.count)
            try part.readTimes(into: at)
            ends.withUnsafeMutableBufferPointer { ends in
                block.persons.withUnsafeBufferPointer { persons in
                    for index in 0..<part.events {
                        let place = Int(persons[Int(list[index])]) &- range.lowerBound
                        guard place >= 0, place < range.count, at[index] >= first, at[index] < last else { continue }
                        all[ends[place]] = (at[index] &- first) &<< Self.stepBits | step
                        ends[place] &+= 1
                    }
                }
            }
        }
        for chunk in stride(from: 0, to: range.count, by: 10_000) {
            for place in chunk..<min(range.count, chunk + 10_000) where ends[place] > starts[place] {
                let events = UnsafeMutableBufferPointer(start: all + starts[place], count: ends[place] - starts[place])
                Self.sort(events)
                for step in 0..<steps(of: events) { reached[step] += 1 }
            }
            try await scan.reader.checkDeadlineAndYield()
        }
        withExtendedLifetime(keys) {}
    }

    /// Insertion sort for few events: most persons have few, nearly in order.
    private static func sort(_ events: UnsafeMutableBufferPointer<Int64>) {
        guard events.count <= 32 else {
            var events = events
            return events.sort()
        }
        for index in 1..<max(1, events.count) {
            let event = events[index]
            var place = index
            while place > 0, events[place &- 1] > event {
                events[place] = events[place &- 1]
                place &-= 1
            }
            events[place] = event
        }
    }

    /// The number of steps a person completed.
    ///
    /// - Parameter events: Sort keys in ascending order.
    private func steps(of events: UnsafeMutableBufferPointer<Int64>) -> Int {
        var completed = 0
        withUnsafeTemporaryAllocation(of: Int64.self, capacity: names.count) { starts in
            for event in events {
                let step = Int(event & (1 &<< Self.stepBits &- 1)), at = event &>> Self.stepBits
                // A step counts only after all steps before it.
                guard step <= completed else { continue }
                if step == 0 {
                    starts[0] = at
                } else if at &- starts[step - 1] <= window {
                    starts[step] = starts[step - 1]
                } else {
                    continue
                }
                if step == completed { completed += 1 }
            }
        }
        return completed
    }
}
