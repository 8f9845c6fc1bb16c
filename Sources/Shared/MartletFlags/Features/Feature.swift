/// What is asked for by key: its first rule that applies decides, else the default.
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
            /// Says nothing itself: its prerequisites may be gates.
            case nothing
        }

        public var id: String = ""
        public var prerequisites: [Prerequisite] = []
        public var filters: [BucketFilter]?
        public var condition: Condition?
        public var action: Action

        public init(_ action: Action) { self.action = action }
    }

    /// The part of everybody that a forced value is for.
    public struct Rollout: Sendable {
        public var range: BucketRange?
        public var coverage: Double?
        /// Nil: the feature's key.
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
    /// Of the rule that decided; empty: it has none, or no rule did.
    public var ruleID: String = ""
    /// Its place among the rules.
    public var ruleIndex: Int?
    public var experiment: Experiment?
    public var experimentResult: ExperimentResult?
}
