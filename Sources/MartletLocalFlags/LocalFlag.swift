import MartletFlagValues
import MartletKit

/// Something that this version does not know.
struct Unsupported: Error {}

/// A flag with its rules, as the server gives them to devices. The first rule that applies decides.
struct LocalFlag: Sendable {
    /// The format of the rules that this version reads.
    private static let format = 1

    private let value: JSON
    private let variant: String
    /// The reason for the flag's own value.
    private let reason: String
    private let rules: [LocalRule]

    /// The flags of an answer. Those that this version does not understand are left out.
    static func all(in answer: JSON) -> [String: LocalFlag] {
        guard answer["format"]?.intValue == format, let flags = answer["flags"]?.objectValue else { return [:] }
        return flags.compactMapValues { try? LocalFlag($0) }
    }

    private init(_ json: JSON) throws {
        guard let value = json["value"], let variant = json["variant"]?.stringValue,
            let reason = json["reason"]?.stringValue, let rules = json["rules"]?.arrayValue
        else { throw Unsupported() }
        self.value = value
        self.variant = variant
        self.reason = reason
        self.rules = try rules.map { try LocalRule($0) }
    }

    func evaluate(for attributes: FlagValue) -> EvaluatedFlag {
        for rule in rules {
            guard let (value, variant) = rule.decision(for: attributes) else { continue }
            return EvaluatedFlag(
                value: value, variant: variant, reason: rule.isForShare ? "SPLIT" : "TARGETING_MATCH")
        }
        return EvaluatedFlag(value: value, variant: variant, reason: reason)
    }
}

private struct LocalRule: Sendable {
    private static let members: Set = [
        "condition", "filters", "attribute", "seed", "hashVersion", "ranges", "variations",
    ]

    /// Whether the rule applies to a share of the subjects only.
    let isForShare: Bool
    private let condition: LocalCondition.Test?
    private let filters: [Shares]
    private let shares: Shares?
    private let variations: [(value: JSON?, variant: String)]

    init(_ json: JSON) throws {
        guard let members = json.objectValue, Self.members.isSuperset(of: members.keys),
            let variations = members["variations"]?.arrayValue
        else { throw Unsupported() }
        isForShare = members.keys.contains("ranges") || members.keys.contains("filters")
        condition = try members["condition"].map { try LocalCondition.test(FlagValue($0)) }
        filters = try (members["filters"]?.arrayValue ?? []).map { try Shares($0) }
        shares = try members["ranges"].map { _ in try Shares(json) }
        self.variations = try variations.map { variation in
            guard let variant = variation["variant"]?.stringValue else { throw Unsupported() }
            return (value: variation["value"], variant: variant)
        }
    }

    /// Nil if the rule does not apply, or leaves the decision to the next one.
    func decision(for attributes: FlagValue) -> (value: JSON, variant: String)? {
        guard filters.allSatisfy({ $0.index(for: attributes) != nil }), condition?(attributes) ?? true else {
            return nil
        }
        let index: Int? = if let shares { shares.index(for: attributes) } else { 0 }
        guard let index, variations.indices.contains(index), let value = variations[index].value else { return nil }
        return (value, variations[index].variant)
    }
}

/// Parts of all subjects, chosen by the hash of an attribute.
private struct Shares: Sendable {
    private let attribute: String
    private let seed: String
    private let hash: FlagHash
    private let ranges: [BucketRange]

    init(_ json: JSON) throws {
        guard let attribute = json["attribute"]?.stringValue, let seed = json["seed"]?.stringValue,
            let version = json["hashVersion"]?.intValue, let hash = FlagHash(rawValue: version),
            let ranges = json["ranges"]?.arrayValue
        else { throw Unsupported() }
        self.attribute = attribute
        self.seed = seed
        self.hash = hash
        self.ranges = try ranges.map { range in
            guard let start = range[0]?.doubleValue, let end = range[1]?.doubleValue else { throw Unsupported() }
            return BucketRange(start, end)
        }
    }

    /// The index of the range that contains the subject; nil without one, and for a subject without a value to hash.
    func index(for attributes: FlagValue) -> Int? {
        let value = attributes[attribute]
        guard value.isTruthy else { return nil }
        return Bucketing.variation(at: hash.bucket(of: value.text, seed: seed), in: ranges)
    }
}
