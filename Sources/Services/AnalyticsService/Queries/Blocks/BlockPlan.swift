/// Which blocks there are to be: as many events of a space as are worth one, and at the end of a day whatever is left.
struct BlockPlan: Sendable, Equatable {
    /// In which time is cut, in seconds.
    static let slot = 10

    /// Times are of `received`, in seconds since 1970.
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

    /// Events of a slot behind those that were added before; none of its space from `start` on is counted yet.
    mutating func add(_ events: Int, of space: Int32, until end: Int, start: Int) {
        var place = waiting[space] ?? Waiting(since: max(start, cuts[space] ?? start), events: 0)
        place.events += events
        waiting[space] = place
        if place.events >= eventsPerBlock { cut(space, at: end) }
    }

    /// The day is over.
    mutating func endDay(at end: Int) {
        for space in waiting.keys.sorted() { cut(space, at: end) }
    }

    private mutating func cut(_ space: Int32, at end: Int) {
        guard let place = waiting.removeValue(forKey: space) else { return }
        blocks.append(Block(space: space, from: place.since, to: end, events: place.events))
        cuts[space] = end
    }

    /// Where the last block of a space ended.
    private var cuts: [Int32: Int] = [:]
}
