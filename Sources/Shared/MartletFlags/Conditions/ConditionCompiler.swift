public import MartletCore
public import MartletFlagValues
import MartletPatterns

/// Compiles conditions, with the groups and named conditions that they may refer to, and collects the issues it finds.
///
/// Extends GrowthBook's language with `{"$condition": name}` for a named condition, `{"$percent": {…}}`, and `$after`
/// and `$before` for times.
public struct ConditionCompiler {
    static let maximumDepth = 16
    /// The maximum number of tests in one condition. The tests of a named condition count each time it is used.
    static let maximumTests = 2_000

    private let named: [String: JSONValue]
    private let groups: [String: ValueList]
    private var resolved: [String: Resolved] = [:]
    private var resolving: [String] = []
    private var tests = 0
    /// The times that all compiled conditions compare `now` with, in seconds since 1970. Their results may change at
    /// these times without any other change.
    private(set) var instants: Set<Double> = []
    private(set) var usedNames = (conditions: Set<String>(), groups: Set<String>())
    var log: IssueLog

    private struct Resolved {
        let test: Condition.Test
        let tests: Int
    }

    public init(named: [String: JSONValue] = [:], groups: [String: [FlagValue]] = [:]) {
        self.init(named: named, groups: groups, log: IssueLog())
    }

    init(named: [String: JSONValue], groups: [String: [FlagValue]], log: IssueLog) {
        self.named = named
        self.groups = groups.mapValues { ValueList($0) }
        self.log = log
    }

    public var issues: [FlagIssue] { log.issues }

    /// An invalid condition matches no one and is reported as an issue.
    public mutating func compile(_ json: JSONValue, at path: String = "") -> Condition {
        tests = 0
        return Condition(test: test(json, path, depth: 0))
    }

    /// Compiles a rule's `when`: a condition, the name of one, or a list of names that must all match.
    public mutating func compileWhen(_ json: JSONValue, at path: String = "") -> Condition {
        tests = 0
        let test: Condition.Test
        switch json {
        case .string(let name): test = reference(name, path)
        case .array(let names): test = .all(names.enumerated().map { nameTest($1, path.pointer(to: $0)) })
        default: test = self.test(json, path, depth: 0)
        }
        return Condition(test: test)
    }

    private mutating func test(_ json: JSONValue, _ path: String, depth: Int) -> Condition.Test {
        guard case .object(let members) = json else {
            return refuse("invalid-condition", path, "Expected a condition, which is an object, found \(json.phrase).")
        }
        guard depth < Self.maximumDepth else {
            return refuse("too-deep", path, "Conditions may be nested at most \(Self.maximumDepth) levels deep.")
        }
        guard count(members.count, path) else { return .never }
        return .all(
            members.map { member in
                let path = path.pointer(to: member.name)
                switch member.name {
                case "$or": return anyOf(member.value, path, depth)
                case "$nor": return .not(anyOf(member.value, path, depth))
                case "$and":
                    return .all(
                        list(member.value, path).enumerated().map { test($1, path.pointer(to: $0), depth: depth + 1) })
                case "$not": return .not(test(member.value, path, depth: depth + 1))
                case "$condition": return nameTest(member.value, path)
                case "$percent": return percentTest(member.value, path)
                default:
                    let names = member.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
                    if names == ["user", "roles"] { checkIsListTest(member.value, path) }
                    return .attribute(names, valueTest(member.value, path, depth: depth + 1, isNow: names == ["now"]))
                }
            })
    }

    /// An empty list matches everyone.
    private mutating func anyOf(_ json: JSONValue, _ path: String, _ depth: Int) -> Condition.Test {
        let tests = list(json, path).enumerated().map { test($1, path.pointer(to: $0), depth: depth + 1) }
        return tests.isEmpty ? .always : .any(tests)
    }

    private mutating func list(_ json: JSONValue, _ path: String) -> [JSONValue] {
        if case .array(let elements) = json { return elements }
        log.error("invalid-condition", at: path, "Expected an array of conditions, found \(json.phrase).")
        return []
    }

    private mutating func nameTest(_ json: JSONValue, _ path: String) -> Condition.Test {
        guard case .string(let name) = json else {
            return refuse("invalid-condition", path, "Expected the name of a condition, found \(json.phrase).")
        }
        return reference(name, path)
    }

    /// The test of a named condition, which is compiled once. Each use counts all its tests.
    private mutating func reference(_ name: String, _ path: String) -> Condition.Test {
        usedNames.conditions.insert(name)
        if resolved[name] == nil {
            guard let json = named[name] else {
                return refuse("unknown-condition", path, "There is no condition named \(name).")
            }
            guard !resolving.contains(name) else {
                return refuse("condition-cycle", path, "The condition \(name) refers to itself.")
            }
            guard resolving.count < Self.maximumDepth else {
                return refuse("too-deep", path, "Named conditions refer to each other too deeply.")
            }
            let outer = tests
            tests = 0
            resolving.append(name)
            let test = test(json, "/conditions".pointer(to: name), depth: 0)
            resolving.removeLast()
            resolved[name] = Resolved(test: test, tests: tests)
            tests = outer
        }
        guard let known = resolved[name], count(known.tests, path) else { return .never }
        return known.test
    }

    mutating func refuse(_ code: String, _ path: String, _ message: String) -> Condition.Test {
        log.error(code, at: path, message)
        return .never
    }

    private mutating func count(_ more: Int, _ path: String) -> Bool {
        tests += more
        if tests <= Self.maximumTests { return true }
        log.error(
            "too-complex", at: path,
            "A condition may have at most \(Self.maximumTests) tests, including those of named conditions.")
        return false
    }
}

// MARK: - Tests of values

extension ConditionCompiler {
    private mutating func valueTest(_ json: JSONValue, _ path: String, depth: Int, isNow: Bool = false) -> ValueTest {
        guard let members = json.operators else {
            return bareTest(json, path, isNow: isNow)
        }
        guard depth < Self.maximumDepth else {
            return refuse(path, "Conditions may be nested at most \(Self.maximumDepth) levels deep.", "too-deep")
        }
        guard count(members.count, path) else { return .never }
        let tests = members.map { operatorTest($0.name, $0.value, path.pointer(to: $0.name), depth, isNow: isNow) }
        return tests.count == 1 ? tests[0] : .all(tests)
    }

    private mutating func bareTest(_ json: JSONValue, _ path: String, isNow: Bool) -> ValueTest {
        if isNow { log.error("invalid-operator", at: path, "Compare now with $after and $before.") }
        switch FlagValue(json) {
        case .string(let text): return .isText(text)
        case .number(let number): return .isNumber(number)
        case .bool(let truth): return .isTruth(truth)
        case .null: return .isNull
        case .object(let members):
            if members.keys.contains(where: { $0.hasPrefix("$") }) {
                log.warning(
                    "mixed-operators", at: path,
                    "Operators next to other names are compared as plain values and have no effect.")
            }
            return .isSame(.object(members))
        case .array(let elements): return .isSame(.array(elements))
        }
    }

    private static let listOperators: Set<String> = [
        "$in", "$nin", "$ini", "$nini", "$inGroup", "$notInGroup", "$all", "$alli", "$elemMatch", "$size", "$exists",
        "$not",
    ]

    /// Warns unless the test looks at single elements: a list compared as a whole stops matching as soon as the user
    /// gets another role.
    private mutating func checkIsListTest(_ json: JSONValue, _ path: String) {
        if case .object(let members) = json, !members.isEmpty,
            members.allSatisfy({ Self.listOperators.contains($0.name) })
        {
            return
        }
        log.warning(
            "list-compared", at: path,
            "This attribute is a list; test its elements, for example with {\"$in\": [\"editors\"]}.")
    }

    private mutating func operatorTest(_ name: String, _ json: JSONValue, _ path: String, _ depth: Int, isNow: Bool)
        -> ValueTest
    {
        if isNow, name != "$after", name != "$before", name != "$not" {
            return refuse(path, "Compare now with $after and $before.", "invalid-operator")
        }
        let expected = FlagValue(json)
        switch name {
        case "$eq": return .isStrictlyEqual(expected)
        case "$ne": return .not(.isStrictlyEqual(expected))
        case "$lt": return .isOrdered(.less, expected)
        case "$lte": return .isOrdered(.lessOrEqual, expected)
        case "$gt": return .isOrdered(.greater, expected)
        case "$gte": return .isOrdered(.greaterOrEqual, expected)
        case "$veq": return .isVersion(PaddedVersion(expected))
        case "$vne": return .not(.isVersion(PaddedVersion(expected)))
        case "$vlt": return .isVersionOrdered(.less, PaddedVersion(expected))
        case "$vlte": return .isVersionOrdered(.lessOrEqual, PaddedVersion(expected))
        case "$vgt": return .isVersionOrdered(.greater, PaddedVersion(expected))
        case "$vgte": return .isVersionOrdered(.greaterOrEqual, PaddedVersion(expected))
        case "$exists": return expected.isTruthy ? .exists : .not(.exists)
        case "$in": return listTest(json, path) { .isIn(ValueList($0)) }
        case "$nin": return listTest(json, path) { .not(.isIn(ValueList($0))) }
        case "$ini": return listTest(json, path) { .isIn(ValueList($0, ignoringCase: true)) }
        case "$nini": return listTest(json, path) { .not(.isIn(ValueList($0, ignoringCase: true))) }
        case "$inGroup": return .isIn(group(expected, path))
        case "$notInGroup": return .not(.isIn(group(expected, path)))
        case "$not": return .not(valueTest(json, path, depth: depth + 1, isNow: isNow))
        case "$size": return .hasSize(valueTest(json, path, depth: depth + 1))
        case "$all", "$alli": return containsAll(json, path, depth, ignoringCase: name == "$alli")
        case "$elemMatch": return .hasElement(elementTest(json, path, depth))
        case "$type": return .hasType(expected.text)
        case "$regex": return pattern(expected, path, ignoringCase: false)
        case "$regexi": return pattern(expected, path, ignoringCase: true)
        case "$after", "$before": return instantTest(expected, path, isAfter: name == "$after", isNow: isNow)
        default: return refuse(path, "The operator \(name) is unknown.", "unknown-operator")
        }
    }

    private mutating func listTest(_ json: JSONValue, _ path: String, _ test: ([FlagValue]) -> ValueTest) -> ValueTest {
        guard case .array(let elements) = json else {
            return refuse(path, "Expected an array, found \(json.phrase).")
        }
        return test(elements.map(FlagValue.init))
    }

    /// An unknown group is reported and treated as empty.
    private mutating func group(_ name: FlagValue, _ path: String) -> ValueList {
        usedNames.groups.insert(name.text)
        if let group = groups[name.text] { return group }
        log.error("unknown-group", at: path, "There is no group named \(name.text).")
        return ValueList([])
    }

    private mutating func containsAll(_ json: JSONValue, _ path: String, _ depth: Int, ignoringCase: Bool) -> ValueTest
    {
        guard case .array(let elements) = json else {
            return refuse(path, "Expected an array, found \(json.phrase).")
        }
        guard count(elements.count, path) else { return .never }
        let tests = elements.enumerated().map { valueTest($1, path.pointer(to: $0), depth: depth + 1) }
        return .containsAll(tests, ignoringCase: ignoringCase)
    }

    private mutating func elementTest(_ json: JSONValue, _ path: String, _ depth: Int) -> ElementTest {
        if case .object = json, json.operators == nil {
            return .object(test(json, path, depth: depth + 1))
        }
        return .value(valueTest(json, path, depth: depth + 1))
    }

    private mutating func pattern(_ expected: FlagValue, _ path: String, ignoringCase: Bool) -> ValueTest {
        guard case .string(let text) = expected else {
            return refuse(path, "Expected a string with a regular expression, found the type \(expected.typeName).")
        }
        do {
            let pattern = try TextPattern(text, ignoringCase: ignoringCase)
            if pattern.textLimit < TextPattern.maximumTextLength {
                log.warning(
                    "long-pattern", at: path,
                    "This pattern is so large that it is searched only in texts of up to \(pattern.textLimit) characters."
                )
            }
            return .containsMatch(pattern)
        } catch {
            return refuse(path, error.message, "invalid-pattern")
        }
    }

    private mutating func instantTest(_ expected: FlagValue, _ path: String, isAfter: Bool, isNow: Bool) -> ValueTest {
        guard let instant = Instant(expected) else {
            return refuse(
                path, "Expected an RFC 3339 date or time, such as 2026-12-24T18:00:00Z.", "invalid-time")
        }
        if isNow { instants.insert(instant.seconds) }
        return isAfter ? .isNotBefore(instant.seconds) : .all([.exists, .not(.isNotBefore(instant.seconds))])
    }

    private mutating func refuse(_ path: String, _ message: String, _ code: String = "invalid-condition") -> ValueTest {
        log.error(code, at: path, message)
        return .never
    }
}

extension JSONValue {
    /// The members if all of them are operators, such as `$gt`; nil for any other value.
    var operators: [Member]? {
        guard case .object(let members) = self, !members.isEmpty, members.allSatisfy({ $0.name.hasPrefix("$") }) else {
            return nil
        }
        return members
    }
}
