public import MartletFlagValues

extension Evaluation {
    /// GrowthBook's `runExperiment`, in the same order, without the steps that only apply to browsers.
    mutating func run(_ experiment: Experiment, for feature: String?) -> ExperimentResult {
        guard experiment.variations.count >= 2, subject.isEnabled else { return result(experiment, feature) }
        if let forced = subject.forcedVariations[experiment.key] { return result(experiment, feature, forced) }
        guard experiment.isActive, let value = hashValue(experiment).value else { return result(experiment, feature) }

        let found =
            isSticky(experiment) ? subject.sticky?.find(experiment, for: subject.attributes) ?? .nothing : .nothing
        var variation: Int?
        if case .variation(let known) = found {
            variation = known
        } else if !mayEnter(experiment, value.text) {
            return result(experiment, feature)
        }
        guard let hash = FlagHash(rawValue: experiment.hashVersion ?? 1) else { return result(experiment, feature) }
        let bucket = hash.bucket(of: value.text, seed: experiment.seed ?? experiment.key)
        if variation == nil { variation = Bucketing.variation(at: bucket, in: experiment.bucketRanges) }
        if found == .blocked {
            var excluded = result(experiment, feature)
            excluded.isSticky = true
            return excluded
        }
        guard let variation else { return result(experiment, feature) }
        if let forced = experiment.forcedVariation { return result(experiment, feature, forced) }
        guard !subject.isTesting else { return result(experiment, feature) }
        return assign(variation, of: experiment, feature, bucket, isKnown: found != .nothing)
    }

    private mutating func assign(
        _ variation: Int, of experiment: Experiment, _ feature: String?, _ bucket: Double, isKnown: Bool
    ) -> ExperimentResult {
        var assigned = result(experiment, feature, variation)
        assigned.isByHash = true
        assigned.bucket = bucket
        assigned.isSticky = isKnown
        assigned.bandit = assigned.isInExperiment ? experiment.bandit : nil
        if isSticky(experiment) { subject.sticky?.record(assigned, of: experiment) }
        return assigned
    }

    /// Whether a subject without an assignment may take part.
    private mutating func mayEnter(_ experiment: Experiment, _ hashValue: String) -> Bool {
        if let filters = experiment.filters {
            guard filters.allSatisfy({ $0.contains(subject.attributes) }) else { return false }
        } else if let namespace = experiment.namespace, !namespace.contains(hashValue) {
            return false
        }
        if let condition = experiment.condition, !condition.matches(subject.attributes) { return false }
        if case .met = check(experiment.prerequisites) { return true }
        return false
    }

    private func isSticky(_ experiment: Experiment) -> Bool { subject.sticky != nil && !experiment.isNeverSticky }

    private func hashValue(_ experiment: Experiment) -> (attribute: String, value: FlagValue?) {
        hashValue(experiment.hashAttribute, isSticky(experiment) ? experiment.fallbackAttribute : nil)
    }

    /// - Parameter variation: If nil or nonexistent, the result has the first variation and is not in the experiment.
    private func result(_ experiment: Experiment, _ feature: String?, _ variation: Int? = nil) -> ExperimentResult {
        let isIn = variation.map(experiment.variations.indices.contains) ?? false
        let variation = isIn ? variation ?? 0 : 0
        let hashed = hashValue(experiment)
        let name = experiment.variationNames.indices.contains(variation) ? experiment.variationNames[variation] : nil
        return ExperimentResult(
            key: name?.key ?? String(variation), variation: variation,
            value: experiment.variations.indices.contains(variation) ? experiment.variations[variation] : .null,
            isInExperiment: isIn,
            isByHash: false, hashAttribute: hashed.attribute, hashValue: hashed.value ?? .string(""), name: name?.name,
            isPassthrough: name?.isPassthrough ?? false, feature: feature)
    }
}

extension Experiment {
    /// The variations' ranges in the interval from 0 to 1.
    public var bucketRanges: [BucketRange] {
        ranges ?? Bucketing.ranges(variations.count, coverage: coverage ?? 1, weights: weights)
    }
}
