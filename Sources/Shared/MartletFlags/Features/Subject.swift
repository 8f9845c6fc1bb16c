/// The user or device that flags are evaluated for: its attributes and earlier decisions.
public struct Subject: Sendable {
    public var attributes: FlagAttributes
    /// Manually chosen variations, by experiment.
    public var forcedVariations: [String: Int] = [:]
    /// Nil if buckets are not sticky.
    public var sticky: StickyBuckets?
    /// Test mode: only forced variations apply, and no one is assigned by hash.
    public var isTesting = false
    public var isEnabled = true

    public init(_ attributes: FlagAttributes, sticky: StickyBuckets? = nil) {
        self.attributes = attributes
        self.sticky = sticky
    }

    /// The variation of an experiment that the query of a URL forces: `?key=1`.
    public static func variation(of experiment: String, in address: String, count: Int) -> Int? {
        let parts = address.split(separator: "?", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return nil }
        let query = parts[1].prefix { $0 != "#" }
        for pair in query.split(separator: "&") {
            let sides = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count > 1, sides[0] == experiment else { continue }
            guard let number = Int(sides[1].prefix { $0.isWholeNumber }), (0..<count).contains(number) else {
                return nil
            }
            return number
        }
        return nil
    }
}
