/// What a question reads of blocks.
struct BlockRequest: Sendable {
    /// Terms; nil: whatever they are called.
    var names: [Int]?
    /// Nil: both.
    var isScreen: Bool?
    /// Whether it matters who had an event.
    var withPersons = false
    /// Whether it matters when, and not only in which interval.
    var withTimes = false
    /// Of profiles.
    private(set) var dimensions: [BlockDimension] = []
    /// Of properties.
    private(set) var paths: [[String]] = []
    /// Of intervals, in microseconds since 2000. Times are read of what lies in more than one, and where they matter.
    let bounds: [Int64]

    init(bounds: [Int64]) {
        self.bounds = bounds
    }

    var withProfiles: Bool { withPersons || !dimensions.isEmpty }
    var first: Int64 { bounds.first ?? 0 }
    var last: Int64 { bounds.last ?? 0 }

    /// Where a dimension is among those that are read, from now on.
    mutating func place(of dimension: BlockDimension) -> Int {
        if let place = dimensions.firstIndex(of: dimension) { return place }
        dimensions.append(dimension)
        return dimensions.count - 1
    }

    mutating func place(of path: [String]) -> Int {
        paths.append(path)
        return paths.count - 1
    }
}
