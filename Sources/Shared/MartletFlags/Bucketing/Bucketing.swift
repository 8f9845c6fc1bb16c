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

/// The range of an experiment within a namespace. Experiments whose ranges in the same namespace are disjoint have no
/// subject in common (mutual exclusion).
public struct Namespace: Sendable, Hashable {
    public let name: String
    public let range: BucketRange

    public init(_ name: String, _ range: BucketRange) {
        self.name = name
        self.range = range
    }

    public func contains(_ hashValue: String) -> Bool {
        range.contains(FlagHash.version1.bucket(of: hashValue, seed: "__" + name))
    }
}

/// Ranges with their own seed and hash, for namespaces and holdouts.
public struct BucketFilter: Sendable, Hashable {
    public let seed: String
    public let ranges: [BucketRange]
    public let attribute: String
    /// Nil for an unknown hash version, which admits no one.
    public let hash: FlagHash?

    public init(seed: String, ranges: [BucketRange], attribute: String = "id", hash: FlagHash? = .version2) {
        self.seed = seed
        self.ranges = ranges
        self.attribute = attribute
        self.hash = hash
    }

    public func contains(_ attributes: FlagAttributes) -> Bool {
        guard let value = attributes.hashValue(of: attribute)?.text, let hash else { return false }
        let bucket = hash.bucket(of: value, seed: seed)
        return ranges.contains { $0.contains(bucket) }
    }
}
