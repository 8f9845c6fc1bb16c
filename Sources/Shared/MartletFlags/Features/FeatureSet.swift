import MartletFlagValues

/// Features that may depend on each other, ready to be evaluated (GrowthBook's `evalFeature`).
public struct FeatureSet: Sendable {
    public var features: [String: Feature]
    public var bandits: [String: Bandit]
    /// Features that always return their default, whatever their rules say.
    public var disabled: Set<String> = []

    public init(_ features: [String: Feature] = [:], bandits: [String: Bandit] = [:]) {
        self.features = features
        self.bandits = bandits
    }

    public func evaluate(_ key: String, for subject: Subject) -> FeatureResult {
        var subject = subject
        return evaluate(key, for: &subject)
    }

    /// Also stores new assignments in the subject's sticky buckets.
    public func evaluate(_ key: String, for subject: inout Subject) -> FeatureResult {
        var evaluation = Evaluation(set: self, subject: subject)
        let result = evaluation.evaluate(key)
        if let sticky = evaluation.subject.sticky { subject.sticky = sticky }
        return result
    }

    /// Runs an experiment outside of any feature.
    public func run(_ experiment: Experiment, for subject: inout Subject) -> ExperimentResult {
        var evaluation = Evaluation(set: self, subject: subject)
        let result = evaluation.run(experiment, for: nil)
        if let sticky = evaluation.subject.sticky { subject.sticky = sticky }
        return result
    }
}

extension Experiment {
    /// The result for `subject`. New assignments are stored in its sticky buckets, if it has any.
    public func run(for subject: inout Subject) -> ExperimentResult { FeatureSet().run(self, for: &subject) }
}

/// One evaluation, including the prerequisite features that it visits.
struct Evaluation {
    static let maximumDepth = 16
    /// The maximum number of features visited: prerequisites of prerequisites could be many.
    static let maximumFeatures = 500

    let set: FeatureSet
    var subject: Subject
    private var ancestors: [String] = []
    private var features = 0

    init(set: FeatureSet, subject: Subject) {
        self.set = set
        self.subject = subject
    }

    mutating func evaluate(_ key: String) -> FeatureResult {
        features += 1
        guard !ancestors.contains(key), ancestors.count < Self.maximumDepth, features <= Self.maximumFeatures else {
            return FeatureResult(value: .null, source: .cyclicPrerequisite)
        }
        guard let feature = set.features[key] else { return FeatureResult(value: .null, source: .unknownFeature) }
        if set.disabled.contains(key) { return FeatureResult(value: feature.defaultValue, source: .defaultValue) }
        ancestors.append(key)
        defer { ancestors.removeLast() }
        for (index, rule) in feature.rules.enumerated() {
            guard var result = apply(rule, of: key) else { continue }
            result.ruleIndex = index
            return result
        }
        return FeatureResult(value: feature.defaultValue, source: .defaultValue)
    }

    /// Nil if the rule does not apply.
    private mutating func apply(_ rule: Feature.Rule, of key: String) -> FeatureResult? {
        switch check(rule.prerequisites) {
        case .met: break
        case .unmet(let isGate):
            return isGate ? FeatureResult(value: .null, source: .prerequisite) : nil
        case .cycle: return FeatureResult(value: .null, source: .cyclicPrerequisite)
        }
        if let filters = rule.filters, !filters.allSatisfy({ $0.contains(subject.attributes) }) { return nil }
        switch rule.action {
        case .force(let value, let rollout):
            if let condition = rule.condition, !condition.matches(subject.attributes) { return nil }
            guard isIncluded(in: rollout, of: key) else { return nil }
            return FeatureResult(value: value, source: .force, ruleID: rule.id)
        case .nothing: return nil
        case .experiment(var experiment, let reference):
            if experiment.key.isEmpty { experiment.key = key }
            if let reference { choose(reference, for: &experiment) }
            let result = run(experiment, for: key)
            guard result.isInExperiment, !result.isPassthrough else { return nil }
            if !result.isByHash { experiment.bandit = nil }
            return FeatureResult(
                value: result.value, source: .experiment, ruleID: rule.id, experiment: experiment,
                experimentResult: result)
        }
    }

    enum PrerequisiteResult {
        case met
        case unmet(isGate: Bool)
        case cycle
    }

    mutating func check(_ prerequisites: [Prerequisite]) -> PrerequisiteResult {
        for prerequisite in prerequisites {
            let result = evaluate(prerequisite.feature)
            if result.source == .cyclicPrerequisite { return .cycle }
            if !prerequisite.condition.matches(.object(["value": result.value.value])) {
                return .unmet(isGate: prerequisite.isGate)
            }
        }
        return .met
    }

    private func isIncluded(in rollout: Feature.Rollout, of key: String) -> Bool {
        if rollout.range == nil {
            guard let coverage = rollout.coverage else { return true }
            if coverage == 0 { return false }
        }
        let fallback = subject.sticky != nil && !rollout.isNeverSticky ? rollout.fallbackAttribute : nil
        guard let value = hashValue(rollout.hashAttribute, fallback).value,
            let hash = FlagHash(rawValue: rollout.hashVersion ?? 1)
        else {
            return false
        }
        let bucket = hash.bucket(of: value.text, seed: rollout.seed ?? key)
        return rollout.range.map { $0.contains(bucket) } ?? (bucket <= rollout.coverage ?? 1)
    }

    /// The attribute to hash and its value.
    func hashValue(_ attribute: String?, _ fallback: String?) -> (attribute: String, value: FlagValue?) {
        let attribute = attribute ?? "id"
        if let value = subject.attributes.hashValue(of: attribute) { return (attribute, value) }
        if let fallback, let value = subject.attributes.hashValue(of: fallback) { return (fallback, value) }
        return (attribute, nil)
    }

    private func choose(_ reference: String, for experiment: inout Experiment) {
        guard let bandit = set.bandits[reference] else { return }
        let context = bandit.contexts.first { $0.condition.matches(subject.attributes) }
        if let context { experiment.weights = context.weights }
        experiment.bandit = BanditChoice(
            leaf: context?.leaf ?? -1,
            weights: experiment.weights ?? Bucketing.equalWeights(experiment.variations.count),
            version: bandit.version)
    }
}
