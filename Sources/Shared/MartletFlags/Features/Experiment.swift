import MartletCore

/// A test of variations against each other: who takes part, and who gets which.
public struct Experiment: Sendable {
    public var key: String
    public var variations: [FeatureValue]
    /// Nil: equal.
    public var weights: [Double]?
    public var coverage: Double?
    /// In place of coverage and weights.
    public var ranges: [BucketRange]?
    public var variationNames: [VariationName] = []
    public var hashAttribute: String?
    /// What is hashed where there is no `hashAttribute`; with sticky buckets only.
    public var fallbackAttribute: String?
    /// As written; 1 where nothing is.
    public var hashVersion: Int?
    /// Nil: the key.
    public var seed: String?
    public var namespace: Namespace?
    /// In place of the namespace.
    public var filters: [BucketFilter]?
    public var condition: Condition?
    public var prerequisites: [Prerequisite] = []
    /// The variation of everybody who would take part.
    public var forcedVariation: Int?
    public var isActive = true
    public var name: String?
    public var phase: String?
    /// Sticky buckets
    public var bucketVersion: Int?
    public var minimumBucketVersion: Int?
    public var isNeverSticky = false
    public var bandit: BanditChoice?

    public init(key: String, variations: [FeatureValue]) {
        self.key = key
        self.variations = variations
    }

    /// What variations are called in assignments and reports (GrowthBook's `meta`).
    public struct VariationName: Sendable, Hashable {
        public var key: String?
        public var name: String?
        /// Assigned and counted, but what follows decides the value: a holdout.
        public var isPassthrough = false

        public init(key: String? = nil, name: String? = nil, isPassthrough: Bool = false) {
            self.key = key
            self.name = name
            self.isPassthrough = isPassthrough
        }
    }
}

/// What another feature must answer.
public struct Prerequisite: Sendable {
    public let feature: String
    /// Of `{"value": …}`.
    public let condition: Condition
    /// Whether the whole feature is off where it does not hold, not only the rule.
    public let isGate: Bool

    public init(feature: String, condition: Condition, isGate: Bool = false) {
        self.feature = feature
        self.condition = condition
        self.isGate = isGate
    }
}

/// What somebody gets of an experiment.
public struct ExperimentResult: Sendable {
    public var key: String
    public var variation: Int
    public var value: FeatureValue
    public var isInExperiment: Bool
    /// Whether the hash decided, not somebody's word.
    public var isByHash: Bool
    public var hashAttribute: String
    /// Empty text where there is nothing to hash.
    public var hashValue: FlagValue
    public var bucket: Double?
    public var isSticky = false
    public var name: String?
    public var isPassthrough = false
    public var feature: String?
    /// Which of a bandit's contexts gave the weights.
    public var bandit: BanditChoice?
}

/// Weights that a contextual bandit learned for one kind of people.
public struct BanditChoice: Sendable, Hashable {
    /// -1: for no kind in particular.
    public var leaf: Int
    public var weights: [Double]
    public var version: Int?
}

/// A contextual bandit as it was published: the first context that fits decides the weights.
public struct Bandit: Sendable {
    public struct Context: Sendable {
        public let leaf: Int
        public let condition: Condition
        public let weights: [Double]
    }

    public let version: Int?
    public let contexts: [Context]
}
