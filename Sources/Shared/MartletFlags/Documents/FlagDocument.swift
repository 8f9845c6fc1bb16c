public import MartletCore

/// The typed flags of an app, compiled for evaluation.
public struct FlagDocument: Sendable {
    public static let maximumFlags = 2_000
    public static let maximumConditions = 500
    public static let maximumRules = 100
    public static let maximumVariants = 50
    public static let maximumGroups = 500
    /// For the names of flags, conditions and saved groups, in bytes.
    public static let maximumNameLength = 256

    public enum Kind: String, Sendable, CaseIterable {
        case boolean, number, string, json

        /// Whether a flag of this kind can have the value.
        public func accepts(_ value: JSONValue) -> Bool {
            switch (self, value) {
            case (.boolean, .bool), (.number, .number), (.string, .string), (.json, _): true
            default: false
            }
        }
    }

    public struct Flag: Sendable {
        public let key: String
        public let kind: Kind
        public let isEnabled: Bool
        let defaultVariant: String
        /// The variant names of the rules' forced values, by rule index; nil if the experiment names its variations.
        let variants: [String?]
        /// Whether a rule applies to only a share of the subjects, by rule index.
        let isPartial: [Bool]
        /// The rules in the form that devices evaluate; nil if only the server evaluates the flag.
        public let localRules: [String]?
    }

    /// In document order.
    public let flags: [Flag]
    public let features: FeatureSet
    /// The times at which an answer may change without a new version, in order; seconds since 1970.
    public let instants: [Double]
    /// Whether a rule tests the user's roles.
    public let testsRoles: Bool
    /// Whether a rule tests the user's profile, which the auth service holds.
    public let testsProfile: Bool
    private let indexByKey: [String: Int]

    init(flags: [Flag], features: FeatureSet, instants: Set<Double>) {
        self.flags = flags
        self.features = features
        self.instants = instants.sorted()
        let conditions = features.features.filter { !features.disabled.contains($0.key) }.values.flatMap {
            $0.rules.compactMap(\.condition)
        }
        testsRoles = conditions.contains(where: \.testsRoles)
        testsProfile = conditions.contains(where: \.testsProfile)
        indexByKey = Dictionary(flags.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Nil if there is no such flag.
    public func evaluate(_ key: String, for subject: Subject) -> FlagAnswer? {
        indexByKey[key].map { answer(flags[$0], subject) }
    }

    public func evaluateAll(for subject: Subject) -> [FlagAnswer] { flags.map { answer($0, subject) } }

    /// The number of instants that have passed. Together with the version and the attributes it determines the answers.
    public func period(at secondsSince1970: Double) -> Int {
        instants.firstIndex { $0 > secondsSince1970 } ?? instants.count
    }

    /// The flag as a member `"key":{…}` of a JSON object, in the form that devices evaluate. Nil if only the server
    /// evaluates it, or if it is off.
    ///
    /// - Parameter rules: Rules of the same form that come before the flag's own.
    public func localMember(_ flag: Flag, after rules: [String] = []) -> String? {
        guard flag.isEnabled, let own = flag.localRules, let feature = features.features[flag.key] else { return nil }
        let reason = feature.rules.isEmpty ? FlagAnswer.Reason.constant : .unknown
        return JSONValue.quote(flag.key)
            + #":{"value":\#(feature.defaultValue.text),"variant":\#(JSONValue.quote(flag.defaultVariant)),"#
            + #""reason":"\#(reason.rawValue)","rules":[\#((rules + own).joined(separator: ","))]}"#
    }

    private func answer(_ flag: Flag, _ subject: Subject) -> FlagAnswer {
        guard let feature = features.features[flag.key] else {
            return FlagAnswer(flag, .null, flag.defaultVariant, .unknown)
        }
        guard flag.isEnabled else { return FlagAnswer(flag, feature.defaultValue, flag.defaultVariant, .disabled) }
        let result = features.evaluate(flag.key, for: subject)
        switch result.source {
        case .defaultValue, .unknownFeature:
            return FlagAnswer(
                flag, feature.defaultValue, flag.defaultVariant, feature.rules.isEmpty ? .constant : .unknown)
        case .prerequisite, .cyclicPrerequisite:
            return FlagAnswer(flag, feature.defaultValue, flag.defaultVariant, .disabled)
        case .force:
            let index = result.ruleIndex ?? 0
            return FlagAnswer(
                flag, result.value, flag.variants[index] ?? "", flag.isPartial[index] ? .split : .targetingMatch,
                rule: result.ruleID)
        case .experiment:
            return FlagAnswer(flag, result.value, result.experimentResult?.key ?? "", .split, rule: result.ruleID)
        }
    }
}

/// The evaluated value of a flag.
public struct FlagAnswer: Sendable {
    /// The OpenFeature reasons that OFREP 0.3.0 supports.
    public enum Reason: String, Sendable {
        /// The flag has no rules.
        case constant = "STATIC"
        case targetingMatch = "TARGETING_MATCH"
        case split = "SPLIT"
        case disabled = "DISABLED"
        /// The flag has rules but none applies, so the default is returned.
        case unknown = "UNKNOWN"
    }

    public let key: String
    public let kind: FlagDocument.Kind
    public let value: FeatureValue
    public let variant: String
    public let reason: Reason
    /// The id of the rule that decided; empty if no rule did or it has no id.
    public let rule: String

    /// The same flag with an experiment's value instead. Nil if the flag is off or the value has another type.
    public func overridden(by json: JSONValue, variant: String) -> FlagAnswer? {
        guard kind.accepts(json), reason != .disabled else { return nil }
        return FlagAnswer(key, kind, FeatureValue(json), variant, .split)
    }

    private init(_ key: String, _ kind: FlagDocument.Kind, _ value: FeatureValue, _ variant: String, _ reason: Reason) {
        self.key = key
        self.kind = kind
        self.value = value
        self.variant = variant
        self.reason = reason
        rule = ""
    }

    init(_ flag: FlagDocument.Flag, _ value: FeatureValue, _ variant: String, _ reason: Reason, rule: String = "") {
        key = flag.key
        kind = flag.kind
        self.value = value
        self.variant = variant
        self.reason = reason
        self.rule = rule
    }
}
