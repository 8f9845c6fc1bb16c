public import MartletFlagValues

/// A test of a subject's attributes in GrowthBook's Mongo-like language, compiled once and evaluated often.
///
/// Evaluation cannot fail: missing attributes are null, and values that cannot be compared do not match.
public struct Condition: Sendable {
    indirect enum Test: Sendable {
        case always
        case never
        case all([Test])
        case any([Test])
        case not(Test)
        case attribute([String], ValueTest)
        case percent(PercentTest)
    }

    let test: Test
    /// Whether the condition tests the user's roles, `user.roles`, which must be loaded first.
    public let testsRoles: Bool
    /// Whether the condition tests attributes of the user that auth holds: `user.profile`, `user.emailVerified` or
    /// `user.anonymous`.
    public let testsProfile: Bool

    public static let always = Condition(test: .always)

    init(test: Test) {
        self.test = test
        testsRoles = test.depends(on: ["user", "roles"])
        testsProfile = FlagAttributes.namesFromAuth.contains { test.depends(on: ["user", $0]) }
    }

    /// A condition on roles or a profile that could not be loaded does not match, not even if it tests for absence.
    public func matches(_ attributes: FlagAttributes) -> Bool {
        if testsRoles, attributes.areRolesUnknown { return false }
        if testsProfile, attributes.isProfileUnknown { return false }
        return test.matches(.object(attributes.values))
    }

    /// Matches any value, such as `{"value": …}` with the value of a prerequisite.
    public func matches(_ value: FlagValue) -> Bool { test.matches(value) }
}

extension Condition.Test {
    func matches(_ root: FlagValue) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .all(let tests): tests.allSatisfy { $0.matches(root) }
        case .any(let tests): tests.contains { $0.matches(root) }
        case .not(let test): !test.matches(root)
        case .attribute(let path, let test): test.matches(Self.value(in: root, at: path))
        case .percent(let test): test.matches(root)
        }
    }

    /// Whether the test depends on the value at a path, inside it or around it.
    func depends(on path: [String]) -> Bool {
        switch self {
        case .always, .never: false
        case .all(let tests), .any(let tests): tests.contains { $0.depends(on: path) }
        case .not(let test): test.depends(on: path)
        case .attribute(let own, _): own.starts(with: path) || path.starts(with: own)
        case .percent(let test): test.attribute == path.first
        }
    }

    private static func value(in root: FlagValue, at path: [String]) -> FlagValue {
        var value = root
        for name in path {
            value = value[name]
            if value == .null { return .null }
        }
        return value
    }
}

/// A share of all subjects, chosen by a hash.
struct PercentTest: Sendable {
    enum Share: Sendable {
        /// GrowthBook's hash, version 2.
        case range(BucketRange)
        /// Firebase's hash, in millionths of a percent: greater than `above`, at most `upTo`; nil means no bound.
        case firebase(above: Int?, upTo: Int?)
    }

    let attribute: String
    let seed: String
    let share: Share

    func matches(_ root: FlagValue) -> Bool {
        let value = root[attribute]
        guard value.isTruthy else { return false }
        switch share {
        case .range(let range): return range.contains(FlagHash.version2.bucket(of: value.text, seed: seed))
        case .firebase(let above, let upTo):
            let position = FlagHash.microPercent(of: value.text, seed: seed)
            return position > above ?? -1 && position <= upTo ?? .max
        }
    }
}
