public import MartletFlagValues

/// A value looked up by key: the first rule that applies decides, otherwise the default.
public struct Feature: Sendable {
    public var defaultValue: FeatureValue
    public var rules: [Rule]

    public init(defaultValue: FeatureValue, rules: [Rule] = []) {
        self.defaultValue = defaultValue
        self.rules = rules
    }

    public struct Rule: Sendable {
        public enum Action: Sendable {
            case force(FeatureValue, Rollout)
            case experiment(Experiment, banditReference: String?)
            /// Returns no value itself; its prerequisites may be gates.
            case nothing
        }

        public var id: String = ""
        public var prerequisites: [Prerequisite] = []
        public var filters: [BucketFilter]?
        public var condition: Condition?
        public var action: Action

        public init(_ action: Action) { self.action = action }
    }

    /// The share of subjects that get a forced value.
    public struct Rollout: Sendable {
        public var range: BucketRange?
        public var coverage: Double?
        /// Nil means the feature's key.
        public var seed: String?
        public var hashAttribute: String?
        public var fallbackAttribute: String?
        public var hashVersion: Int?
        public var isNeverSticky = false

        public init() {}
    }
}

public struct FeatureResult: Sendable {
    public enum Source: String, Sendable {
        case unknownFeature, defaultValue, force, experiment, prerequisite, cyclicPrerequisite
    }

    public var value: FeatureValue
    public var source: Source
    /// The id of the rule that decided; empty if it has none or no rule did.
    public var ruleID: String = ""
    /// The index of that rule.
    public var ruleIndex: Int?
    public var experiment: Experiment?
    public var experimentResult: ExperimentResult?
}
