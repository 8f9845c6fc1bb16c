/// A part of the line from 0 to 1, without its end.
public struct BucketRange: Sendable, Hashable {
    public let start: Double
    public let end: Double

    public init(_ start: Double, _ end: Double) {
        self.start = start
        self.end = end
    }

    public func contains(_ bucket: Double) -> Bool { bucket >= start && bucket < end }
}

/// Which variation a place on the line from 0 to 1 means.
public enum Bucketing {
    /// None for fewer than one.
    public static func equalWeights(_ count: Int) -> [Double] {
        count < 1 ? [] : Array(repeating: 1 / Double(count), count: count)
    }

    /// Ranges of `count` variations: each begins where its weight does and takes `coverage` of it, so that more
    /// coverage moves nobody.
    ///
    /// Weights that are not one a variation or do not add up to 1 (± 0.01) count as equal ones; coverage beyond 0…1 as
    /// 0 or 1.
    public static func ranges(_ count: Int, coverage: Double = 1, weights: [Double]? = nil) -> [BucketRange] {
        let coverage = min(max(coverage, 0), 1)
        let weights = weights.flatMap { isComplete($0, of: count) ? $0 : nil } ?? equalWeights(count)
        var total = 0.0
        return weights.map { weight in
            defer { total += weight }
            return BucketRange(total, total + coverage * weight)
        }
    }

    /// Whether there is a weight for each of `count` variations, and they add up to 1 (± 0.01).
    public static func isComplete(_ weights: [Double], of count: Int) -> Bool {
        weights.count == count && (0.99...1.01).contains(weights.reduce(0, +))
    }

    /// The first whose range has the place; nil: in none of them.
    public static func variation(at bucket: Double, in ranges: [BucketRange]) -> Int? {
        ranges.firstIndex { $0.contains(bucket) }
    }
}

/// A named line from 0 to 1 that experiments share so that nobody is in two of them (mutual exclusion).
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

/// Several ranges of a line of their own: namespaces, holdouts.
public struct BucketFilter: Sendable, Hashable {
    public let seed: String
    public let ranges: [BucketRange]
    public let attribute: String
    /// Nil: one that is not known, which lets nobody in.
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
