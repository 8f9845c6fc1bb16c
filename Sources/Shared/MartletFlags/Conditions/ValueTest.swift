import MartletFlagValues
import MartletPatterns

/// A test of one value.
indirect enum ValueTest: Sendable {
    // Tests for bare values, without an operator. Arrays and objects are compared by structure.
    case isText(String)
    case isNumber(Double)
    case isTruth(Bool)
    case isNull
    case isSame(FlagValue)
    // Tests for operators.
    case all([ValueTest])
    case not(ValueTest)
    case isStrictlyEqual(FlagValue)
    case isOrdered(Comparison, FlagValue)
    case isVersion(PaddedVersion)
    case isVersionOrdered(Comparison, PaddedVersion)
    case exists
    case isIn(ValueList)
    case containsAll([ValueTest], ignoringCase: Bool)
    case hasElement(ElementTest)
    case hasSize(ValueTest)
    case hasType(String)
    case containsMatch(TextPattern)
    /// Seconds since 1970.
    case isNotBefore(Double)
    case never

    func matches(_ value: FlagValue, ignoringCase: Bool = false) -> Bool {
        switch self {
        case .isText(let text): return ignoringCase ? value.text.lowercased() == text.lowercased() : value.text == text
        case .isNumber(let number): return value.number == number
        case .isTruth(let truth): return value != .null && value.isTruthy == truth
        case .isNull: return value == .null
        case .isSame(let other): return value == other
        case .all(let tests): return tests.allSatisfy { $0.matches(value) }
        case .not(let test): return !test.matches(value)
        case .isStrictlyEqual(let other): return value.isStrictlyEqual(to: other)
        case .isOrdered(let comparison, let other): return value.isOrdered(comparison, other)
        case .isVersion(let version): return PaddedVersion(value) == version
        case .isVersionOrdered(let comparison, let version): return PaddedVersion(value).isOrdered(comparison, version)
        case .exists: return value != .null
        case .isIn(let list): return list.contains(value)
        case .containsAll(let tests, let ignoresCase):
            guard case .array(let elements) = value else { return false }
            return tests.allSatisfy { test in elements.contains { test.matches($0, ignoringCase: ignoresCase) } }
        case .hasElement(let test):
            guard case .array(let elements) = value else { return false }
            return elements.contains { $0.isTruthy && test.matches($0) }
        case .hasSize(let test):
            guard case .array(let elements) = value else { return false }
            return test.matches(.number(Double(elements.count)))
        case .hasType(let name): return value.typeName == name
        case .containsMatch(let pattern): return pattern.isFound(in: value.text)
        case .isNotBefore(let instant): return Instant(value).map { $0.seconds >= instant } ?? false
        case .never: return false
        }
    }
}

enum ElementTest: Sendable {
    case value(ValueTest)
    case object(Condition.Test)

    func matches(_ value: FlagValue) -> Bool {
        switch self {
        case .value(let test): test.matches(value)
        case .object(let test): test.matches(value)
        }
    }
}

/// The values of `$in` or a group, with constant-time look-up.
struct ValueList: Sendable {
    private let values: Set<FlagValue>
    private let ignoresCase: Bool

    init(_ values: [FlagValue], ignoringCase: Bool = false) {
        self.ignoresCase = ignoringCase
        // JavaScript compares arrays and objects by identity, so those in a list never match.
        self.values = Set(values.filter { $0.isStrictlyEqual(to: $0) }.map { ignoringCase ? $0.lowercased : $0 })
    }

    /// Whether the value is in the list; for an array, whether one of its elements is.
    func contains(_ value: FlagValue) -> Bool {
        if case .array(let elements) = value { return elements.contains(where: has) }
        return has(value)
    }

    private func has(_ value: FlagValue) -> Bool { values.contains(ignoresCase ? value.lowercased : value) }
}

extension FlagValue {
    fileprivate var lowercased: FlagValue {
        if case .string(let text) = self { .string(text.lowercased()) } else { self }
    }
}
