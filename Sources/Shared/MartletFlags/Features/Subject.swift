/// Who asks: attributes, and what was decided for them before.
public struct Subject: Sendable {
    public var attributes: FlagAttributes
    /// Variations that somebody chose by hand, by experiment.
    public var forcedVariations: [String: Int] = [:]
    /// Nil: buckets are not sticky.
    public var sticky: StickyBuckets?
    /// Testers: nobody takes part but by a forced variation.
    public var isTesting = false
    public var isEnabled = true

    public init(_ attributes: FlagAttributes, sticky: StickyBuckets? = nil) {
        self.attributes = attributes
        self.sticky = sticky
    }

    /// The variation that the query of an address forces for an experiment: `?key=1`.
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
