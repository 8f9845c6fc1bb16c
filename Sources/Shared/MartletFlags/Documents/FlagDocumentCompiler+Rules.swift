import MartletCore
import MartletFlagValues

extension FlagDocumentCompiler {
    struct CompiledRule {
        var rule: Feature.Rule
        var variant: String?
        var isPartial: Bool
    }

    private static let ours: Set<String> = [
        "id", "description", "enabled", "when", "value", "variant", "percent", "by", "seed", "split",
    ]
    private static let growthBook: Set<String> = [
        "condition", "parentConditions", "force", "coverage", "range", "hashAttribute", "hashVersion", "filters",
        "variations", "weights", "ranges",
        "meta", "key", "name", "phase", "namespace",
    ]

    /// A rule in Martlet's short form (`when`, `value` or `variant` with `percent`, or `split`) or in GrowthBook's.
    mutating func compileRule(
        _ json: JSONValue, of key: String, _ check: FlagValueCheck, _ variants: [FlagVariant], index: Int,
        _ path: String
    ) -> CompiledRule {
        allow(Self.ours.union(Self.growthBook), in: json, path)
        var rule = compiler.rule(json, path)
        var name: String?
        let answers = ["value", "variant", "split", "force", "variations"].filter { json[$0] != nil }
        if answers.count > 1 {
            error("ambiguous-rule", path, "A rule must have only one of \(answers.joined(separator: ", ")).")
        }
        if let given = value(json, check, variants, path) {
            rule.action = .force(given.value, rollout(json, of: key, path))
            name =
                given.name ?? variants.first { $0.json == given.json }?.name
                ?? (check.kind == .boolean
                    ? FlagVariant.name(of: given.json) : rule.id.isEmpty ? "rule-\(index + 1)" : rule.id)
        } else if let split = json["split"] {
            rule.action = .experiment(experiment(split, json, of: key, check, variants, path), banditReference: nil)
        } else if case .experiment(var experiment, let bandit) = rule.action {
            checkExperiment(experiment, json, check, path)
            if let by = compiler.text(json, "by", path) { experiment.hashAttribute = by }
            rule.action = .experiment(experiment, banditReference: bandit)
        } else if rule.prerequisites.isEmpty {
            let hasVariant = json["variant"] != nil
            error(
                hasVariant ? "unknown-variant" : "missing-field", hasVariant ? path.pointer(to: "variant") : path,
                hasVariant ? "There is no such variant." : "A rule must have value, variant or split.")
        }
        if json["percent"] != nil, json["split"] != nil || json["variations"] != nil {
            error("ambiguous-rule", path.pointer(to: "percent"), "percent can only be combined with value or variant.")
        }
        addCondition(json, to: &rule, path)
        checkHashing(json, path)
        // A disabled rule is checked and then replaced by one that does nothing, so the indices of the others stay the
        // same.
        if compiler.boolean(json, "enabled", path) == false { rule = Feature.Rule(.nothing) }
        return CompiledRule(rule: rule, variant: name, isPartial: rule.isPartial)
    }

    /// Puts the `when` condition where the rule's action looks for it.
    private mutating func addCondition(_ json: JSONValue, to rule: inout Feature.Rule, _ path: String) {
        if json["condition"] != nil, json["when"] != nil {
            error("ambiguous-rule", path.pointer(to: "condition"), "Use either when or condition, not both.")
        }
        let condition: Condition? =
            if let when = json["when"] {
                compiler.conditions.compileWhen(when, at: path.pointer(to: "when"))
            } else {
                json["condition"].map { compiler.conditions.compileWhen($0, at: path.pointer(to: "condition")) }
            }
        rule.condition = condition
        if case .experiment(var experiment, let bandit) = rule.action {
            experiment.condition = condition
            rule.action = .experiment(experiment, banditReference: bandit)
        }
    }

    /// The value in `value` or `force`, or the variant that `variant` names; nil if there is none.
    private mutating func value(
        _ json: JSONValue, _ check: FlagValueCheck, _ variants: [FlagVariant], _ path: String
    ) -> FlagVariant? {
        for name in ["value", "force"] {
            guard let value = json[name] else { continue }
            check.check(value, at: path.pointer(to: name), log: &compiler.conditions.log)
            return FlagVariant(value)
        }
        // Variants have been checked where they are written.
        guard case .string(let name) = json["variant"] else { return nil }
        return variants.first { $0.name == name }
    }

    /// Compiles `percent` into a range of the version 2 hash that starts at 0, so raising the percentage excludes no
    /// one.
    private mutating func rollout(_ json: JSONValue, of key: String, _ path: String) -> Feature.Rollout {
        var rollout = compiler.rollout(json, path)
        if let by = compiler.text(json, "by", path) { rollout.hashAttribute = by }
        guard let percent = percent(json, path) else { return rollout }
        if json["coverage"] != nil || json["range"] != nil {
            error("ambiguous-rule", path.pointer(to: "percent"), "Use only one of percent, coverage and range.")
        }
        rollout.range = BucketRange(0, percent / 100)
        rollout.hashVersion = 2
        return rollout
    }

    private mutating func percent(_ json: JSONValue, _ path: String) -> Double? {
        guard let percent = compiler.number(json, "percent", path) else { return nil }
        if (0...100).contains(percent) { return percent }
        error("invalid-percent", path.pointer(to: "percent"), "A percentage must be a number from 0 to 100.")
        return 0
    }

    /// Compiles `[{"variant": "a", "percent": 50}, …]` into consecutive ranges that start at 0. Subjects outside all
    /// ranges fall through to the next rule.
    private mutating func experiment(
        _ split: JSONValue, _ json: JSONValue, of key: String, _ check: FlagValueCheck, _ variants: [FlagVariant],
        _ path: String
    ) -> Experiment {
        let splitPath = path.pointer(to: "split")
        let shares = compiler.elements(split, splitPath)
        limit(shares.count, FlagDocument.maximumVariants, splitPath, "shares")
        if shares.count < 2 { error("invalid-split", splitPath, "A split must have at least two shares.") }
        var experiment = compiler.experiment(json, path)
        experiment.variations = []
        experiment.ranges = []
        if experiment.key.isEmpty { experiment.key = key }
        experiment.hashAttribute = compiler.text(json, "by", path) ?? experiment.hashAttribute
        experiment.hashVersion = 2
        var total = 0.0
        for (index, share) in shares.prefix(FlagDocument.maximumVariants).enumerated() {
            let path = splitPath.pointer(to: index)
            allow(["variant", "value", "percent"], in: share, path)
            let given = value(share, check, variants, path)
            if given == nil {
                error(
                    "unknown-variant", path.pointer(to: "variant"),
                    "A share must have a value or the name of an existing variant.")
            }
            let percent = percent(share, path) ?? 0
            experiment.variations.append(given?.value ?? .null)
            experiment.variationNames.append(
                .init(key: given?.name ?? variants.first { $0.json == given?.json }?.name))
            experiment.ranges?.append(BucketRange(total / 100, (total + percent) / 100))
            total += percent
        }
        if total > 100 { error("invalid-split", splitPath, "The shares add up to more than 100 percent.") }
        return experiment
    }

    private mutating func checkExperiment(
        _ experiment: Experiment, _ json: JSONValue, _ check: FlagValueCheck, _ path: String
    ) {
        let variations = compiler.elements(json["variations"], path.pointer(to: "variations"))
        limit(variations.count, FlagDocument.maximumVariants, path.pointer(to: "variations"), "variations")
        for (index, variation) in variations.enumerated() {
            check.check(variation, at: path.pointer(to: "variations").pointer(to: index), log: &compiler.conditions.log)
        }
        if variations.count < 2 {
            error("invalid-split", path.pointer(to: "variations"), "There must be at least two variations.")
        }
        if let weights = experiment.weights, !Bucketing.isComplete(weights, of: variations.count) {
            error(
                "invalid-weights", path.pointer(to: "weights"),
                "There must be one weight for each variation, adding up to 1.")
        }
        if let ranges = experiment.ranges, ranges.count != variations.count {
            error("invalid-split", path.pointer(to: "ranges"), "There must be one range for each variation.")
        }
    }
}

extension Feature.Rule {
    /// Whether the rule applies to only a share of the subjects, chosen by hash.
    var isPartial: Bool {
        if filters != nil { return true }
        if case .force(_, let rollout) = action { return rollout.range != nil || rollout.coverage != nil }
        return true
    }
}
