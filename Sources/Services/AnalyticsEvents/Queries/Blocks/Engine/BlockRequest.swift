/// The columns and events that a question needs from blocks.
struct BlockRequest: Sendable {
    /// Only events with these terms as name; nil for all events.
    var names: [Int]?
    /// Only screens, or only other events; nil for both.
    var isScreen: Bool?
    /// Whether the question needs the person of an event.
    var withPersons = false
    /// Whether the question needs the exact time of an event, not only its interval.
    var withTimes = false
    /// The dimensions to read from profiles.
    private(set) var dimensions: [BlockDimension] = []
    /// The paths to read from properties.
    private(set) var paths: [[String]] = []
    /// The bounds of the intervals, in microseconds since 2000. Times are read if `withTimes` is set or a part spans
    /// several intervals.
    let bounds: [Int64]

    init(bounds: [Int64]) {
        self.bounds = bounds
    }

    var withProfiles: Bool { withPersons || !dimensions.isEmpty }
    var first: Int64 { bounds.first ?? 0 }
    var last: Int64 { bounds.last ?? 0 }

    /// The index of a dimension among those that are read; adds it if necessary.
    mutating func index(of dimension: BlockDimension) -> Int {
        if let index = dimensions.firstIndex(of: dimension) { return index }
        dimensions.append(dimension)
        return dimensions.count - 1
    }

    /// Adds a path to those that are read; returns its index.
    mutating func index(of path: [String]) -> Int {
        paths.append(path)
        return paths.count - 1
    }
}
