/// A half-open part of the interval from 0 to 1; the upper end is excluded.
public struct BucketRange: Sendable, Hashable {
    public let start: Double
    public let end: Double

    public init(_ start: Double, _ end: Double) {
        self.start = start
        self.end = end
    }

    public func contains(_ bucket: Double) -> Bool { bucket >= start && bucket < end }
}

/// Maps positions in the interval from 0 to 1 to variations.
public enum Bucketing {
    /// Empty if `count` is below 1.
    public static func equalWeights(_ count: Int) -> [Double] {
        count < 1 ? [] : Array(repeating: 1 / Double(count), count: count)
    }

    /// The ranges of `count` variations. Each starts at the sum of the weights before it and covers the share
    /// `coverage` of its own weight, so raising the coverage moves no one to another variation.
    ///
    /// Weights whose count is wrong or that do not add up to 1 (± 0.01) are replaced by equal ones. Coverage is clamped
    /// to 0…1.
    public static func ranges(_ count: Int, coverage: Double = 1, weights: [Double]? = nil) -> [BucketRange] {
        let coverage = min(max(coverage, 0), 1)
        let weights = weights.flatMap { isComplete($0, of: count) ? $0 : nil } ?? equalWeights(count)
        var total = 0.0
        return weights.map { weight in
            defer { total += weight }
            return BucketRange(total, total + coverage * weight)
        }
    }

    /// Whether there is one weight for each of `count` variations and they add up to 1 (± 0.01).
    public static func isComplete(_ weights: [Double], of count: Int) -> Bool {
        weights.count == count && (0.99...1.01).contains(weights.reduce(0, +))
    }

    /// The first variation whose range contains the position; nil if none does.
    public static func variation(at bucket: Double, in ranges: [BucketRange]) -> Int? {
        ranges.firstIndex { $0.contains(bucket) }
    }
}
