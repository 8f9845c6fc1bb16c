public import MartletCore

/// Reads conditions, with the groups and named conditions that they may refer to, and writes down what is wrong with
/// them.
///
/// Beyond GrowthBook's language: `{"$condition": name}` for a named one, `{"$percent": {…}}`, and `$after` and
/// `$before` for times.
public struct ConditionCompiler {
    static let maximumDepth = 16
    /// Tests in one condition, those of the named ones in it counted each time.
    static let maximumTests = 2_000

    private let named: [String: JSONValue]
    private let groups: [String: ValueList]
    private var resolved: [String: Resolved] = [:]
    private var resolving: [String] = []
    private var tests = 0
    private var instants: Set<Double> = []
    private(set) var usedNames = (conditions: Set<String>(), groups: Set<String>())
    var log: IssueLog

    private struct Resolved {
        let test: Condition.Test
        let tests: Int
        let instants: Set<Double>
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

    /// What cannot be understood matches nobody, and is among the issues.
    public mutating func compile(_ json: JSONValue, at path: String = "") -> Condition {
        tests = 0
        instants = []
        let test = test(json, path, depth: 0)
        return Condition(test: test, instants: instants)
    }

    /// What a rule's `when` says: a condition, the name of one, or a list of names all of which must hold.
    public mutating func compileWhen(_ json: JSONValue, at path: String = "") -> Condition {
        tests = 0
        instants = []
        let test: Condition.Test
        switch json {
        case .string(let name): test = reference(name, path)
        case .array(let names): test = .all(names.enumerated().map { nameTest($1, path.pointer(to: $0)) })
        default: test = self.test(json, path, depth: 0)
        }
        return Condition(test: test, instants: instants)
    }

    private mutating func test(_ json: JSONValue, _ path: String, depth: Int) -> Condition.Test {
        guard case .object(let members) = json else {
            return refuse("invalid-condition", path, "A condition is an object.")
        }
        guard depth < Self.maximumDepth else {
            return refuse("too-deep", path, "Conditions may be nested \(Self.maximumDepth) deep.")
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

    /// An empty list holds for everybody.
    private mutating func anyOf(_ json: JSONValue, _ path: String, _ depth: Int) -> Condition.Test {
        let tests = list(json, path).enumerated().map { test($1, path.pointer(to: $0), depth: depth + 1) }
        return tests.isEmpty ? .always : .any(tests)
    }

    private mutating func list(_ json: JSONValue, _ path: String) -> [JSONValue] {
        if case .array(let elements) = json { return elements }
        log.error("invalid-condition", at: path, "This takes a list of conditions.")
        return []
    }

    private mutating func nameTest(_ json: JSONValue, _ path: String) -> Condition.Test {
        guard case .string(let name) = json else {
            return refuse("invalid-condition", path, "This takes the name of a condition.")
        }
        return reference(name, path)
    }

    /// A named condition, compiled once; it counts as many tests as it has.
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
                return refuse("too-deep", path, "Named conditions refer to each other too deep.")
            }
            let outer = (tests, instants)
            (tests, instants) = (0, [])
            resolving.append(name)
            let test = test(json, "/conditions".pointer(to: name), depth: 0)
            resolving.removeLast()
            resolved[name] = Resolved(test: test, tests: tests, instants: instants)
            (tests, instants) = outer
        }
        guard let known = resolved[name], count(known.tests, path) else { return .never }
        instants.formUnion(known.instants)
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
            "A condition may have at most \(Self.maximumTests) tests, those of named conditions included.")
        return false
    }
}

// MARK: - Tests of values

extension ConditionCompiler {
    private mutating func valueTest(_ json: JSONValue, _ path: String, depth: Int, isNow: Bool = false) -> ValueTest {
        guard case .object(let members) = json, !members.isEmpty, members.allSatisfy({ $0.name.hasPrefix("$") }) else {
            return bareTest(json, path, isNow: isNow)
        }
        guard depth < Self.maximumDepth else {
            return refuse(path, "Conditions may be nested \(Self.maximumDepth) deep.", "too-deep")
        }
        guard count(members.count, path) else { return .never }
        let tests = members.map { operatorTest($0.name, $0.value, path.pointer(to: $0.name), depth, isNow: isNow) }
        return tests.count == 1 ? tests[0] : .all(tests)
    }

    private mutating func bareTest(_ json: JSONValue, _ path: String, isNow: Bool) -> ValueTest {
        if isNow { log.error("invalid-operator", at: path, "Compare now by $after and $before.") }
        switch FlagValue(json) {
        case .string(let text): return .isText(text)
        case .number(let number): return .isNumber(number)
        case .bool(let truth): return .isTruth(truth)
        case .null: return .isNull
        case .object(let members):
            if members.keys.contains(where: { $0.hasPrefix("$") }) {
                log.warning(
                    "mixed-operators", at: path, "Operators beside other names are compared as text: they do nothing.")
            }
            return .isSame(.object(members))
        case .array(let elements): return .isSame(.array(elements))
        }
    }

    private static let listOperators: Set<String> = [
        "$in", "$nin", "$ini", "$nini", "$inGroup", "$notInGroup", "$all", "$alli", "$elemMatch", "$size", "$exists",
        "$not",
    ]

    /// A list that is compared as one value is compared as text: who has one role more is somebody else.
    private mutating func checkIsListTest(_ json: JSONValue, _ path: String) {
        if case .object(let members) = json, !members.isEmpty,
            members.allSatisfy({ Self.listOperators.contains($0.name) })
        {
            return
        }
        log.warning(
            "list-compared", at: path, "This is a list: ask for one of its elements, as {\"$in\": [\"editors\"]} does.")
    }

    private mutating func operatorTest(_ name: String, _ json: JSONValue, _ path: String, _ depth: Int, isNow: Bool)
        -> ValueTest
    {
        if isNow, name != "$after", name != "$before", name != "$not" {
            return refuse(path, "Compare now by $after and $before.", "invalid-operator")
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
        default: return refuse(path, "The operator \(name) is not known.", "unknown-operator")
        }
    }

    private mutating func listTest(_ json: JSONValue, _ path: String, _ test: ([FlagValue]) -> ValueTest) -> ValueTest {
        guard case .array(let elements) = json else { return refuse(path, "This takes a list.") }
        return test(elements.map(FlagValue.init))
    }

    /// A group that is not known has nobody in it.
    private mutating func group(_ name: FlagValue, _ path: String) -> ValueList {
        usedNames.groups.insert(name.text)
        if let group = groups[name.text] { return group }
        log.error("unknown-group", at: path, "There is no group named \(name.text).")
        return ValueList([])
    }

    private mutating func containsAll(_ json: JSONValue, _ path: String, _ depth: Int, ignoringCase: Bool) -> ValueTest
    {
        guard case .array(let elements) = json else { return refuse(path, "This takes a list.") }
        guard count(elements.count, path) else { return .never }
        let tests = elements.enumerated().map { valueTest($1, path.pointer(to: $0), depth: depth + 1) }
        return .containsAll(tests, ignoringCase: ignoringCase)
    }

    private mutating func elementTest(_ json: JSONValue, _ path: String, _ depth: Int) -> ElementTest {
        if case .object(let members) = json, members.isEmpty || !members.allSatisfy({ $0.name.hasPrefix("$") }) {
            return .object(test(json, path, depth: depth + 1))
        }
        return .value(valueTest(json, path, depth: depth + 1))
    }

    private mutating func pattern(_ expected: FlagValue, _ path: String, ignoringCase: Bool) -> ValueTest {
        guard case .string(let text) = expected else { return refuse(path, "This takes a regular expression.") }
        do {
            let pattern = try TextPattern(text, ignoringCase: ignoringCase)
            if pattern.textLimit < TextPattern.maximumTextLength {
                log.warning(
                    "long-pattern", at: path,
                    "A pattern with so many steps is only looked for in texts of up to \(pattern.textLimit) characters."
                )
            }
            return .isFound(pattern)
        } catch {
            return refuse(path, error.message, "invalid-pattern")
        }
    }

    private mutating func instantTest(_ expected: FlagValue, _ path: String, isAfter: Bool, isNow: Bool) -> ValueTest {
        guard let instant = Instant(expected) else {
            return refuse(
                path, "This takes a date or time as in RFC 3339, such as 2026-12-24T18:00:00Z.", "invalid-time")
        }
        if isNow { instants.insert(instant.seconds) }
        return isAfter ? .isAfter(instant.seconds) : .all([.exists, .not(.isAfter(instant.seconds))])
    }

    private mutating func refuse(_ path: String, _ message: String, _ code: String = "invalid-condition") -> ValueTest {
        log.error(code, at: path, message)
        return .never
    }
}
