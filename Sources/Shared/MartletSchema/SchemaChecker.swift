import MartletCore
import MartletPatterns

/// One check of a value against a schema.
struct SchemaChecker {
    private enum Step {
        case member(String)
        case element(Int)
    }

    private var violations: [SchemaViolation] = []
    private var limit: Int
    private var path: [Step] = []
    private var checksLeft: Int
    /// Whether only the existence of a violation matters, as in the alternatives of `anyOf`. Violations are then not
    /// described.
    private var isProbing = false
    private var hasViolation = false

    /// - Parameter checksLeft: How many checks may still be made. Once they are used up, no value fits.
    static func violations(
        of value: JSONValue, _ node: SchemaNode, limit: Int, checksLeft: inout Int
    ) -> [SchemaViolation] {
        var checker = SchemaChecker(limit: limit, checksLeft: checksLeft)
        checker.check(value, node)
        checksLeft = checker.checksLeft
        guard checksLeft <= 0 else { return checker.violations }
        checker = SchemaChecker(limit: 1, checksLeft: 0)
        checker.addViolation("", "The document is too large to be checked against the schema")
        return checker.violations
    }

    private init(limit: Int, checksLeft: Int) { (self.limit, self.checksLeft) = (limit, checksLeft) }

    /// Whether to stop: either the result is complete, or no more checks may be made.
    private var isDone: Bool { checksLeft <= 0 || (isProbing ? hasViolation : violations.count >= limit) }

    /// - Parameter absent: The member of the value that is missing.
    private mutating func addViolation(_ keyword: String, absent: String? = nil, _ sentence: @autoclosure () -> String)
    {
        hasViolation = true
        guard !isProbing, violations.count < limit else { return }
        var top = path.isEmpty ? absent : nil
        if case .member(let name) = path.first { top = name }
        let pointer = path.map { step in
            switch step {
            case .member(let name): "/" + JSONPointer.escape(name)
            case .element(let index): "/\(index)"
            }
        }.joined()
        let message = sentence() + (keyword.isEmpty ? "." : " (\(keyword)).")
        violations.append(SchemaViolation(pointer: pointer, keyword: keyword, message: message, topLevelMember: top))
    }

    private mutating func check(_ value: JSONValue, _ node: SchemaNode) {
        checksLeft -= 1
        guard !isDone else { return }
        switch node {
        case .anything: break
        case .nothing: addViolation("false", "No value is allowed here")
        case .rules(let rules): for rule in rules where !isDone { check(value, rule) }
        }
    }

    private mutating func check(_ value: JSONValue, at step: Step, _ node: SchemaNode) {
        if case .anything = node { return }
        path.append(step)
        check(value, node)
        path.removeLast()
    }

    /// Whether a value fits, without saying why not.
    private mutating func fits(_ value: JSONValue, _ node: SchemaNode) -> Bool {
        let outer = (isProbing, hasViolation)
        (isProbing, hasViolation) = (true, false)
        check(value, node)
        let fits = !hasViolation
        (isProbing, hasViolation) = outer
        return fits
    }

    private mutating func check(_ value: JSONValue, _ rule: SchemaRule) {
        switch rule {
        case .types(let types):
            if types.contains(where: \.isTyped) { checksLeft -= Self.work(value) }
            if !types.contains(where: { $0.contains(value) }) {
                addViolation(
                    "type",
                    "Expected \(types.map(\.rawValue).joined(separator: " or ")), found \(ValueType.phrase(for: value))"
                )
            }
        case .classNames(let names):
            checksLeft -= names.count / 8 + Self.work(value)
            if ValueType.allCases.contains(where: { $0.hasClassName && $0.isNamed(by: value) }),
                !names.contains(where: { value["className"] == .string($0) })
            {
                addViolation("className", "Expected a reference to \(names.joined(separator: " or "))")
            }
        case .values(let keys, let keyword):
            if !keys.contains(key(of: value)) {
                addViolation(
                    keyword,
                    keyword == "const" ? "Expected the schema's constant" : "Expected one of the schema's values")
            }
        case .minimum, .maximum, .multipleOf: checkNumber(value, rule)
        case .atLeast(let minimum, let unit):
            checksLeft -= Self.work(value)
            if let count = unit.count(value), count < minimum {
                addViolation("min" + unit.rawValue, "Expected at least \(unit.phrase(minimum)), found \(count)")
            }
        case .atMost(let maximum, let unit):
            checksLeft -= Self.work(value)
            if let count = unit.count(value), count > maximum {
                addViolation("max" + unit.rawValue, "Expected at most \(unit.phrase(maximum)), found \(count)")
            }
        case .pattern(let pattern): checkPattern(value, pattern)
        case .uniqueItems, .items, .prefixItems, .contains: checkElements(value, rule)
        case .properties, .required, .dependentRequired, .propertyNames: checkMembers(value, rule)
        case .allOf(let nodes): for node in nodes where !isDone { check(value, node) }
        case .anyOf(let nodes):
            for node in nodes where isDone || fits(value, node) { return }
            addViolation("anyOf", "Expected a value that fits at least one of \(nodes.count) alternatives")
        case .oneOf(let nodes):
            var count = 0
            for node in nodes where count < 2 && fits(value, node) { count += 1 }
            if count != 1 {
                addViolation(
                    "oneOf",
                    "Expected a value that fits exactly one of \(nodes.count) alternatives, found "
                        + (count == 0 ? "that it fits none" : "that it fits several"))
            }
        case .not(let node): if fits(value, node) { addViolation("not", "This value is excluded") }
        }
    }

    private mutating func key(of value: JSONValue) -> EqualityKey {
        let key = EqualityKey(value)
        checksLeft -= 2 + key.bytes.count / 16
        return key
    }

    /// The number of checks that reading a value counts as, not including the contents of its members and elements.
    private static func work(_ value: JSONValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count / 64
        case .array(let elements): elements.count / 8
        case .object(let members):
            members.reduce(members.count / 8) { work, member in
                switch member.value {
                case .string(let text): work + text.utf8.count / 64
                case .array(let elements): work + elements.count
                default: work
                }
            }
        default: 0
        }
    }

    private mutating func checkNumber(_ value: JSONValue, _ rule: SchemaRule) {
        guard case .number(let text) = value, let number = ExactNumber(text) else { return }
        switch rule {
        case .minimum(let bound, let literal, false):
            if number < bound { addViolation("minimum", "Expected a number of at least \(literal)") }
        case .minimum(let bound, let literal, true):
            if number <= bound { addViolation("exclusiveMinimum", "Expected a number above \(literal)") }
        case .maximum(let bound, let literal, false):
            if number > bound { addViolation("maximum", "Expected a number of at most \(literal)") }
        case .maximum(let bound, let literal, true):
            if number >= bound { addViolation("exclusiveMaximum", "Expected a number below \(literal)") }
        case .multipleOf(let divisor, let literal):
            if !number.isMultiple(of: divisor) { addViolation("multipleOf", "Expected a multiple of \(literal)") }
        default: break
        }
    }

    private mutating func checkPattern(_ value: JSONValue, _ pattern: TextPattern) {
        guard case .string(let text) = value else { return }
        let count = text.unicodeScalars.count
        guard count <= pattern.textLimit else {
            return addViolation(
                "pattern", "Expected at most \(pattern.textLimit) characters, the limit of this pattern")
        }
        checksLeft -= count * pattern.stepCount / 10
        if checksLeft > 0, !pattern.isFound(in: text) { addViolation("pattern", "The text does not match the pattern") }
    }

    private mutating func checkElements(_ value: JSONValue, _ rule: SchemaRule) {
        guard case .array(let elements) = value else { return }
        checksLeft -= elements.count / 8
        switch rule {
        case .items(let node, let start):
            for index in elements.indices.dropFirst(start) where !isDone {
                check(elements[index], at: .element(index), node)
            }
        case .prefixItems(let nodes):
            for (index, node) in zip(elements.indices, nodes) { check(elements[index], at: .element(index), node) }
        case .contains(let node):
            for element in elements where isDone || fits(element, node) { return }
            addViolation("contains", "Expected at least one element of the schema's kind")
        case .uniqueItems:
            var known: Set<EqualityKey> = []
            for element in elements where !isDone && !known.insert(key(of: element)).inserted {
                return addViolation("uniqueItems", "Expected no two equal elements")
            }
        default: break
        }
    }

    private mutating func checkMembers(_ value: JSONValue, _ rule: SchemaRule) {
        guard case .object(let members) = value else { return }
        checksLeft -= members.count / 2
        guard !isDone else { return }
        switch rule {
        case .properties(let nodes, let others):
            for member in members where !isDone {
                guard let node = nodes[ExactText(member.name)] else {
                    checkOther(member, others)
                    continue
                }
                check(member.value, at: .member(member.name), node)
            }
        case .required(let names):
            let known = Set(members.map { ExactText($0.name) })
            for name in names where !known.contains(ExactText(name)) {
                addViolation("required", absent: name, "The member \(JSONValue.quote(name)) is missing")
            }
        case .dependentRequired(let rules):
            let known = Set(members.map { ExactText($0.name) })
            for (name, others) in rules where known.contains(ExactText(name)) {
                for other in others where !known.contains(ExactText(other)) {
                    addViolation(
                        "dependentRequired", absent: other,
                        "The member \(JSONValue.quote(other)) is missing, which \(JSONValue.quote(name)) requires")
                }
            }
        case .propertyNames(let node):
            for member in members where !isDone && !fits(.string(member.name), node) {
                path.append(.member(member.name))
                addViolation("propertyNames", "The schema does not allow this name")
                path.removeLast()
            }
        default: break
        }
    }

    private mutating func checkOther(_ member: JSONValue.Member, _ node: SchemaNode) {
        guard case .nothing = node else { return check(member.value, at: .member(member.name), node) }
        path.append(.member(member.name))
        addViolation("additionalProperties", "The schema has no such member")
        path.removeLast()
    }
}
