public import MartletCore
import MartletFlagValues

extension Feature.Rule {
    /// The rule as JSON in the form that devices evaluate.
    ///
    /// It applies if `condition` matches, the subject is in all `filters`, and its hash is in one of the `ranges`. The
    /// position of that range chooses the variation, or the first one if there are no ranges. A variation without a
    /// value leaves the decision to the next rule.
    ///
    /// - Parameters:
    ///   - key: The flag's.
    ///   - condition: The rule's condition, made by `LocalConditions`.
    func localText(of key: String, variant: String?, condition: JSONValue?) -> String {
        switch action {
        // It counts as a rule that does not apply, as on the server.
        case .nothing: return LocalRule.nothing
        case .force(let value, let rollout):
            var shares: LocalRule.Shares?
            if rollout.range != nil || rollout.coverage != nil {
                guard let hash = FlagHash(rawValue: rollout.hashVersion ?? 1) else { return LocalRule.nothing }
                // A coverage includes its upper end, unlike a range.
                let coverage = rollout.coverage.map { BucketRange(0, $0 == 0 ? 0 : $0.nextUp) }
                shares = LocalRule.Shares(
                    rollout.hashAttribute, rollout.seed ?? key, hash,
                    [rollout.range ?? coverage].compactMap { $0 })
            }
            return LocalRule.text(condition, filters, shares, [(value.text, variant ?? "")])
        case .experiment(var experiment, _):
            if experiment.key.isEmpty { experiment.key = key }
            let values = experiment.variations.indices.map { index in
                experiment.variationNames.indices.contains(index) && experiment.variationNames[index].isPassthrough
                    ? nil : experiment.variations[index].text
            }
            return experiment.localText(condition: condition, values: values)
        }
    }
}

extension Experiment {
    /// The experiment as a rule in the form that devices evaluate.
    ///
    /// - Parameters:
    ///   - condition: The experiment's condition, made by `LocalConditions`.
    ///   - values: The variations' values as JSON text; nil leaves the decision to the next rule.
    public func localText(condition: JSONValue?, values: [String?]) -> String {
        guard values.count >= 2, let hash = FlagHash(rawValue: hashVersion ?? 1) else { return LocalRule.nothing }
        // Filters replace the namespace.
        let exclusive = namespace.map {
            BucketFilter(seed: $0.seed, ranges: [$0.range], attribute: hashAttribute ?? "id", hash: $0.hash)
        }
        let variations: [(value: String?, variant: String)] = values.enumerated().map { index, value in
            (value, (variationNames.indices.contains(index) ? variationNames[index].key : nil) ?? String(index))
        }
        return LocalRule.text(
            condition, filters ?? exclusive.map { [$0] },
            LocalRule.Shares(hashAttribute, seed ?? key, hash, bucketRanges), variations)
    }
}

/// The JSON text of a rule in the form that devices evaluate.
enum LocalRule {
    static let nothing = #"{"variations":[]}"#

    /// Parts of all subjects, by the hash of an attribute.
    struct Shares {
        let text: String

        init(_ attribute: String?, _ seed: String, _ hash: FlagHash, _ ranges: [BucketRange]) {
            let ranges = ranges.map { "[\(Self.bound($0.start)),\(Self.bound($0.end))]" }.joined(separator: ",")
            text =
                #""attribute":\#(JSONValue.quote(attribute ?? "id")),"seed":\#(JSONValue.quote(seed)),"#
                + #""hashVersion":\#(hash.rawValue),"ranges":[\#(ranges)]"#
        }

        /// All positions are from 0 to 1. Infinity is not a number of JSON.
        private static func bound(_ number: Double) -> Double { min(max(number, -1), 2) }
    }

    static func text(
        _ condition: JSONValue?, _ filters: [BucketFilter]?, _ shares: Shares?,
        _ variations: [(value: String?, variant: String)]
    ) -> String {
        var members: [String] = []
        if let condition { members.append(#""condition":\#(condition.text)"#) }
        if let filters {
            var texts: [String] = []
            for filter in filters {
                guard let hash = filter.hash else { return nothing }
                texts.append("{" + Shares(filter.attribute, filter.seed, hash, filter.ranges).text + "}")
            }
            members.append(#""filters":[\#(texts.joined(separator: ","))]"#)
        }
        if let shares { members.append(shares.text) }
        let texts = variations.map { variation in
            let value = variation.value.map { #""value":\#($0),"# } ?? ""
            return #"{\#(value)"variant":\#(JSONValue.quote(variation.variant))}"#
        }
        members.append(#""variations":[\#(texts.joined(separator: ","))]"#)
        return "{" + members.joined(separator: ",") + "}"
    }
}

extension FlagDocumentCompiler {
    /// The flags of one document that devices evaluate have at most this size: every device downloads them.
    static let maximumLocalSizeInBytes = 256 << 10

    /// The rule in the form that devices evaluate. Reports what they cannot evaluate.
    mutating func localRule(_ compiled: CompiledRule, _ json: JSONValue, of key: String, at index: Int, _ path: String)
        -> String
    {
        let path = path.pointer(to: "rules").pointer(to: index)
        func refuse(_ code: String, _ path: String, _ message: String) {
            error(code, path, "The flag \(key) has localEvaluation, so devices evaluate it. " + message)
        }
        if !compiled.rule.prerequisites.isEmpty {
            refuse("not-local", path.pointer(to: "parentConditions"), "It cannot depend on other flags.")
        }
        var attributes = [json["by"], json["hashAttribute"]]
        if case .array(let filters) = json["filters"] { attributes += filters.map { $0["attribute"] } }
        if attributes.contains(where: LocalConditions.differs) {
            refuse("not-local", path, "Shares cannot depend on now or user, whose values on devices may differ.")
        }
        var condition: JSONValue?
        let name = json["when"] == nil ? "condition" : "when"
        if compiled.rule.condition != nil, let when = json[name] {
            condition = local.resolve(when, at: path.pointer(to: name))
            for refusal in local.takeRefusals() { refuse(refusal.code, refusal.path, refusal.message) }
        }
        guard localSizeInBytes <= Self.maximumLocalSizeInBytes else { return "" }
        let text = compiled.rule.localText(of: key, variant: compiled.variant, condition: condition)
        countLocal(text, path)
        return text
    }

    /// Adds to the size of what every device downloads.
    mutating func countLocal(_ text: String, _ path: String) {
        let wasTooLarge = localSizeInBytes > Self.maximumLocalSizeInBytes
        localSizeInBytes += text.utf8.count
        guard localSizeInBytes > Self.maximumLocalSizeInBytes, !wasTooLarge else { return }
        error(
            "too-large", path,
            "The flags with localEvaluation may have at most \(Self.maximumLocalSizeInBytes) bytes together.")
    }
}
