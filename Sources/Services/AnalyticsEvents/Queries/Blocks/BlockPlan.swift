/// Plans the blocks of each space: a block as soon as enough events have arrived, and a block for the remaining events
/// at the end of each day.
struct BlockPlan: Sendable, Equatable {
    /// Blocks start and end at multiples of this, in seconds.
    static let slot = 10

    /// Events that are in no block yet. Times are those of `received`, in seconds since 1970.
    struct Waiting: Sendable, Equatable {
        var since: Int
        var events: Int
    }

    struct Block: Sendable, Equatable {
        var space: Int32
        var from: Int
        var to: Int
        var events: Int
    }

    let eventsPerBlock: Int
    /// By space.
    var waiting: [Int32: Waiting] = [:]
    private(set) var blocks: [Block] = []

    init(eventsPerBlock: Int, waiting: [Int32: Waiting] = [:]) {
        self.eventsPerBlock = eventsPerBlock
        self.waiting = waiting
    }

    /// Adds the events of one slot. Slots must be added in order of time.
    ///
    /// - Parameter start: The start of the planned range. The next block of a space without waiting events starts here,
    ///   or where its last block ended.
    mutating func add(_ events: Int, of space: Int32, until end: Int, start: Int) {
        var current = waiting[space] ?? Waiting(since: max(start, lastEnds[space] ?? start), events: 0)
        current.events += events
        waiting[space] = current
        if current.events >= eventsPerBlock { endBlock(of: space, at: end) }
    }

    /// Ends the block of every space that has events waiting, because the day is over.
    mutating func endDay(at end: Int) {
        for space in waiting.keys.sorted() { endBlock(of: space, at: end) }
    }

    private mutating func endBlock(of space: Int32, at end: Int) {
        guard let current = waiting.removeValue(forKey: space) else { return }
        blocks.append(Block(space: space, from: current.since, to: end, events: current.events))
        lastEnds[space] = end
    }

    /// Where the last block of each space ended.
    private var lastEnds: [Int32: Int] = [:]
}
