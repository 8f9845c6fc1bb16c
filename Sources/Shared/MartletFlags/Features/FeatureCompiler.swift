public import MartletCore

/// Compiles GrowthBook's JSON of features, rules, experiments and bandits, and collects the issues it finds.
///
/// Invalid parts are left out, so that they have no effect; unknown members are ignored.
public struct FeatureCompiler {
    public var conditions: ConditionCompiler

    public init(_ conditions: ConditionCompiler = ConditionCompiler()) {
        self.conditions = conditions
    }

    public var issues: [FlagIssue] { conditions.issues }

    /// Compiles `{key: {"defaultValue":…, "rules":[…]}}`, with the bandits that rules refer to.
    public mutating func compile(features: JSONValue, bandits: JSONValue = .object([])) -> FeatureSet {
        var set = FeatureSet()
        for member in members(features, "") {
            set.features[member.name] = feature(member.value, "".pointer(to: member.name))
        }
        for member in members(bandits, "") {
            set.bandits[member.name] = bandit(member.value, "".pointer(to: member.name))
        }
        return set
    }

    mutating func feature(_ json: JSONValue, _ path: String) -> Feature {
        let rules = elements(json["rules"], path.pointer(to: "rules"))
        return Feature(
            defaultValue: json["defaultValue"].map(FeatureValue.init) ?? .null,
            rules: rules.enumerated().map { rule($1, path.pointer(to: "rules").pointer(to: $0)) })
    }

    mutating func rule(_ json: JSONValue, _ path: String) -> Feature.Rule {
        let action = action(json, path)
        var rule = Feature.Rule(action)
        rule.id = text(json, "id", path) ?? ""
        rule.prerequisites = prerequisites(json, path)
        rule.filters = filters(json, path)
        if case .force = action { rule.condition = condition(json, path) }
        return rule
    }

    private mutating func action(_ json: JSONValue, _ path: String) -> Feature.Rule.Action {
        if let value = json["force"] { return .force(FeatureValue(value), rollout(json, path)) }
        guard json["contextualVariations"] != nil || json["variations"] != nil else { return .nothing }
        return .experiment(experiment(json, path), banditReference: text(json, "contextualBanditRef", path))
    }

    mutating func rollout(_ json: JSONValue, _ path: String) -> Feature.Rollout {
        var rollout = Feature.Rollout()
        rollout.range = json["range"].flatMap { range($0, path.pointer(to: "range")) }
        rollout.coverage = number(json, "coverage", path)
        rollout.seed = text(json, "seed", path)
        rollout.hashAttribute = text(json, "hashAttribute", path)
        rollout.fallbackAttribute = text(json, "fallbackAttribute", path)
        rollout.hashVersion = integer(json, "hashVersion", path)
        rollout.isNeverSticky = boolean(json, "disableStickyBucketing", path) ?? false
        return rollout
    }

    /// A standalone experiment or the experiment of a rule. A rule's experiment without a `key` takes the key of its
    /// feature.
    public mutating func experiment(_ json: JSONValue, _ path: String = "") -> Experiment {
        let variations = elements(json["contextualVariations"] ?? json["variations"], path.pointer(to: "variations"))
        var experiment = Experiment(key: text(json, "key", path) ?? "", variations: variations.map(FeatureValue.init))
        experiment.weights = numbers(json["weights"], path.pointer(to: "weights"))
        experiment.coverage = number(json, "coverage", path)
        experiment.ranges = ranges(json["ranges"], path.pointer(to: "ranges"))
        experiment.variationNames = elements(json["meta"], path.pointer(to: "meta")).map { name($0, path) }
        experiment.hashAttribute = text(json, "hashAttribute", path)
        experiment.fallbackAttribute = text(json, "fallbackAttribute", path)
        experiment.hashVersion = integer(json, "hashVersion", path)
        experiment.seed = text(json, "seed", path)
        experiment.namespace = namespace(json["namespace"], path.pointer(to: "namespace"))
        experiment.filters = filters(json, path)
        experiment.condition = condition(json, path)
        experiment.forcedVariation = integer(json, "force", path)
        experiment.isActive = boolean(json, "active", path) ?? true
        experiment.name = text(json, "name", path)
        experiment.phase = text(json, "phase", path)
        experiment.bucketVersion = integer(json, "bucketVersion", path)
        experiment.minimumBucketVersion = integer(json, "minBucketVersion", path)
        experiment.isNeverSticky = boolean(json, "disableStickyBucketing", path) ?? false
        return experiment
    }

    /// A standalone experiment with its prerequisites. (The prerequisites of a rule's experiment belong to the rule.)
    public mutating func standaloneExperiment(_ json: JSONValue, _ path: String = "") -> Experiment {
        var experiment = experiment(json, path)
        experiment.prerequisites = prerequisites(json, path)
        return experiment
    }

    private mutating func name(_ json: JSONValue, _ path: String) -> Experiment.VariationName {
        let path = path.pointer(to: "meta")
        return Experiment.VariationName(
            key: text(json, "key", path), name: text(json, "name", path),
            isPassthrough: boolean(json, "passthrough", path) ?? false)
    }

    mutating func condition(_ json: JSONValue, _ path: String) -> Condition? {
        json["condition"].flatMap { $0 == .null ? nil : conditions.compile($0, at: path.pointer(to: "condition")) }
    }

    mutating func prerequisites(_ json: JSONValue, _ path: String) -> [Prerequisite] {
        let path = path.pointer(to: "parentConditions")
        return elements(json["parentConditions"], path).enumerated().map { index, parent in
            let path = path.pointer(to: index)
            // Groups do not apply to a feature's value.
            let condition =
                parent["condition"].map { conditions.compile($0, at: path.pointer(to: "condition")) } ?? .always
            return Prerequisite(
                feature: text(parent, "id", path) ?? "", condition: condition,
                isGate: boolean(parent, "gate", path) ?? false)
        }
    }

    private mutating func bandit(_ json: JSONValue, _ path: String) -> Bandit {
        let path = path.pointer(to: "contexts")
        let contexts = elements(json["contexts"], path).enumerated().map { index, context in
            let path = path.pointer(to: index)
            return Bandit.Context(
                leaf: integer(context, "leafId", path) ?? -1, condition: condition(context, path) ?? .always,
                weights: numbers(context["weights"], path.pointer(to: "weights")) ?? [])
        }
        return Bandit(version: integer(json, "banditVersion", path), contexts: contexts)
    }
}
