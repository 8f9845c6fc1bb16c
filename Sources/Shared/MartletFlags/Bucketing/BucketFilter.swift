public import MartletFlagValues

/// The range of an experiment within a namespace. Experiments whose ranges in the same namespace are disjoint have no
/// subject in common (mutual exclusion).
public struct Namespace: Sendable, Hashable {
    public let name: String
    public let range: BucketRange

    public init(_ name: String, _ range: BucketRange) {
        self.name = name
        self.range = range
    }

    public func contains(_ hashValue: String) -> Bool { range.contains(hash.bucket(of: hashValue, seed: seed)) }

    var seed: String { "__" + name }
    var hash: FlagHash { .version1 }
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
