import MartletCore
import MartletFlags

/// One of GrowthBook's published cases (packages/sdk-js/test/cases.json, specVersion 0.8.0).
struct GrowthBookCase: Sendable, CustomStringConvertible {
    let name: String
    let parts: [JSONValue]

    var description: String { name }

    static func all(_ group: String) -> [GrowthBookCase] {
        let cases = (try? Vectors.json(Vectors.growthBook))?[group]?.elements ?? []
        return cases.enumerated().map {
            GrowthBookCase(name: "\($0) " + ($1.elements.first?.string ?? ""), parts: $1.elements)
        }
    }
}

/// The context of a case: the user's attributes, and the features.
struct GrowthBookContext {
    var set: FeatureSet
    var subject: Subject
    var compiler: FeatureCompiler

    init(_ json: JSONValue, sticky: StickyBuckets? = nil) {
        let groups = (json["savedGroups"]?.members ?? []).map { ($0.name, $0.value.elements.map(FlagValue.init)) }
        compiler = FeatureCompiler(ConditionCompiler(groups: Dictionary(uniqueKeysWithValues: groups)))
        set = compiler.compile(
            features: json["features"] ?? .object([]), bandits: json["contextualBandits"] ?? .object([]))
        subject = Subject(FlagAttributes(json["attributes"] ?? .object([])), sticky: sticky)
        subject.isTesting = json["qaMode"]?.bool ?? false
        subject.isEnabled = json["enabled"]?.bool ?? true
        for member in json["forcedVariations"]?.members ?? [] {
            subject.forcedVariations[member.name] = member.value.double.map { Int($0) }
        }
        let rules = (json["features"]?.members ?? []).flatMap { $0.value["rules"]?.elements ?? [] }
        for rule in rules {
            force(rule["key"]?.string ?? "", by: json["url"], count: rule["contextualVariations"]?.elements.count ?? 0)
        }
    }

    /// Forces variations by the page's address here, because on a server the caller that knows the address passes the
    /// variation on.
    mutating func force(_ experiment: String, by address: JSONValue?, count: Int) {
        guard let address = address?.string, let forced = Subject.variation(of: experiment, in: address, count: count)
        else { return }
        subject.forcedVariations[experiment] = forced
    }
}

extension FlagAttributes {
    init(_ json: JSONValue) {
        if case .object(let values) = FlagValue(json) { self.init(values) } else { self.init([:]) }
    }
}

extension FlagValue {
    /// Removes members that are null, because missing and null are the same here.
    static func members(_ members: [String: FlagValue?]) -> FlagValue { .object(members.compactMapValues { $0 }) }
    static func number(_ number: Int) -> FlagValue { .number(Double(number)) }
    static func numbers(_ numbers: [Double]?) -> FlagValue? { numbers.map { .array($0.map(FlagValue.number)) } }
}

extension FeatureResult {
    /// The result in the form of GrowthBook's SDK.
    var published: FlagValue {
        .members([
            "value": value.value, "on": .bool(value.isOn), "off": .bool(!value.isOn),
            "source": .string(source.rawValue),
            "ruleId": .string(ruleID), "experiment": experiment?.published,
            "experimentResult": experimentResult?.published,
        ])
    }
}

extension ExperimentResult {
    var published: FlagValue {
        .members([
            "key": .string(key), "variationId": .number(variation), "value": value.value,
            "inExperiment": .bool(isInExperiment),
            "hashUsed": .bool(isByHash), "hashAttribute": .string(hashAttribute), "hashValue": hashValue,
            "bucket": bucket.map(FlagValue.number),
            "stickyBucketUsed": .bool(isSticky), "name": name.map(FlagValue.string),
            "passthrough": isPassthrough ? .bool(true) : nil,
            "featureId": feature.map(FlagValue.string) ?? .null, "leafId": bandit.map { .number($0.leaf) },
            "variationWeights": .numbers(bandit?.weights), "banditVersion": bandit?.version.map { .number($0) },
        ])
    }
}

extension Experiment {
    var published: FlagValue {
        .members([
            "key": .string(key), "variations": .array(variations.map(\.value)), "weights": .numbers(weights),
            "coverage": coverage.map(FlagValue.number),
            "ranges": ranges.map { .array($0.map { .array([.number($0.start), .number($0.end)]) }) },
            "meta": variationNames.isEmpty ? nil : .array(variationNames.map(\.published)),
            "hashAttribute": hashAttribute.map(FlagValue.string),
            "hashVersion": hashVersion.map { .number($0) }, "seed": seed.map(FlagValue.string),
            "name": name.map(FlagValue.string),
            "phase": phase.map(FlagValue.string),
            "namespace": namespace.map { .array([.string($0.name), .number($0.range.start), .number($0.range.end)]) },
            "filters": filters.map { .array($0.map(\.published)) },
            "contextualBandit": bandit.map {
                .members([
                    "leafId": .number($0.leaf), "variationWeights": .numbers($0.weights),
                    "banditVersion": $0.version.map { .number($0) },
                ])
            },
        ])
    }
}

extension Experiment.VariationName {
    fileprivate var published: FlagValue {
        .members([
            "key": key.map(FlagValue.string), "name": name.map(FlagValue.string),
            "passthrough": isPassthrough ? .bool(true) : nil,
        ])
    }
}

extension BucketFilter {
    fileprivate var published: FlagValue {
        .members([
            "seed": .string(seed), "ranges": .array(ranges.map { .array([.number($0.start), .number($0.end)]) }),
            "attribute": .string(attribute),
            "hashVersion": hash == .version2 ? nil : hash.map { .number($0.rawValue) },
        ])
    }
}
