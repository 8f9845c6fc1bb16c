import MartletCore
public import MartletFlagValues

/// A test of variations against each other: its participants and their assignment.
public struct Experiment: Sendable {
    public var key: String
    public var variations: [FeatureValue]
    /// Nil for equal weights.
    public var weights: [Double]?
    public var coverage: Double?
    /// Replaces coverage and weights.
    public var ranges: [BucketRange]?
    public var variationNames: [VariationName] = []
    public var hashAttribute: String?
    /// The attribute to hash if `hashAttribute` has no value; used with sticky buckets only.
    public var fallbackAttribute: String?
    /// As in the document; nil means 1.
    public var hashVersion: Int?
    /// Nil means the experiment's key.
    public var seed: String?
    public var namespace: Namespace?
    /// Replaces the namespace.
    public var filters: [BucketFilter]?
    public var condition: Condition?
    public var prerequisites: [Prerequisite] = []
    /// The variation that all participants get.
    public var forcedVariation: Int?
    public var isActive = true
    public var name: String?
    public var phase: String?
    /// For sticky buckets.
    public var bucketVersion: Int?
    public var minimumBucketVersion: Int?
    public var isNeverSticky = false
    public var bandit: BanditChoice?

    public init(key: String, variations: [FeatureValue]) {
        self.key = key
        self.variations = variations
    }

    /// The names of variations in assignments and reports (GrowthBook's `meta`).
    public struct VariationName: Sendable, Hashable {
        public var key: String?
        public var name: String?
        /// A holdout: the subject is assigned and counted, but the following rules decide the value.
        public var isPassthrough = false

        public init(key: String? = nil, name: String? = nil, isPassthrough: Bool = false) {
            self.key = key
            self.name = name
            self.isPassthrough = isPassthrough
        }
    }
}

/// The value that another feature must have.
public struct Prerequisite: Sendable {
    public let feature: String
    /// Applied to `{"value": …}`.
    public let condition: Condition
    /// Whether an unmet prerequisite turns off the whole feature instead of skipping only the rule.
    public let isGate: Bool

    public init(feature: String, condition: Condition, isGate: Bool = false) {
        self.feature = feature
        self.condition = condition
        self.isGate = isGate
    }
}

/// A subject's result in an experiment.
public struct ExperimentResult: Sendable {
    public var key: String
    public var variation: Int
    public var value: FeatureValue
    public var isInExperiment: Bool
    /// Whether the hash decided, rather than a forced variation.
    public var isByHash: Bool
    public var hashAttribute: String
    /// An empty string if there is no value to hash.
    public var hashValue: FlagValue
    public var bucket: Double?
    public var isSticky = false
    public var name: String?
    public var isPassthrough = false
    public var feature: String?
    /// The bandit context that supplied the weights.
    public var bandit: BanditChoice?
}

/// The weights that a contextual bandit learned for one context.
public struct BanditChoice: Sendable, Hashable {
    /// -1 if no context matched.
    public var leaf: Int
    public var weights: [Double]
    public var version: Int?
}

/// A published contextual bandit: the first matching context supplies the weights.
public struct Bandit: Sendable {
    public struct Context: Sendable {
        public let leaf: Int
        public let condition: Condition
        public let weights: [Double]
    }

    public let version: Int?
    public let contexts: [Context]
}
