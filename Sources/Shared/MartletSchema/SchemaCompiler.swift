import Foundation
import MartletCore
import MartletPatterns

/// Compiles a schema, and rejects keywords that would never be checked.
struct SchemaCompiler {
    /// Keywords without an effect on the check. `default` fills in members of new objects.
    private static let annotations: Set<String> = [
        "$comment", "$id", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly",
    ]
    private static let keywords: Set<String> = [
        "$defs", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "className", "const", "contains",
        "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "items", "maxItems", "maxLength",
        "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf",
        "pattern", "prefixItems", "properties", "propertyNames", "required", "type", "uniqueItems",
    ]
    /// Keywords of JSON Schema that are not supported. The error for them differs from that for a misspelt keyword.
    private static let unsupported: Set<String> = [
        "$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary", "contentEncoding", "contentMediaType",
        "contentSchema", "dependentSchemas", "else", "format", "if", "maxContains", "minContains",
        "patternProperties", "then", "unevaluatedItems", "unevaluatedProperties",
    ]
    static let dialect = "https://json-schema.org/draft/2020-12/schema"

    private let document: JSONValue
    private(set) var definitions: [ExactText: JSONValue] = [:]
    /// The definitions that contain the current subschema, outermost first.
    private var entered: [String] = []
    /// The definitions compiled so far, so that all references to a definition share it.
    private var compiled: [ExactText: Definition] = [:]
    private var depth = 0
    /// The depth of the deepest subschema so far.
    private var deepest = 0
    private var keywordCount = 0
    private var patternSteps = 0
    private var checksLeft = JSONSchema.maximumChecks

    private struct Definition {
        let node: SchemaNode
        let keywordCount: Int
        let patternSteps: Int
        /// The number of levels of subschemas, including the definition itself.
        let height: Int
    }

    init(_ document: JSONValue) { self.document = document }

    mutating func compile() throws(SchemaError) -> SchemaNode {
        guard let member = document["$defs"] else { return try compile(document, at: "") }
        let named = try Self.members(member, at: "/$defs")
        for definition in named { definitions[ExactText(definition.name)] = definition.value }
        // Compile all definitions, even those without a reference, to report their errors.
        for definition in named { _ = try self.definition(definition.name, at: "/$defs") }
        return try compile(document, at: "")
    }

    /// The name in a `$ref` to one of `$defs`; nil if there is no such `$ref`.
    static func definitionName(in schema: JSONValue) -> String? {
        guard case .string(let reference) = schema["$ref"], reference.hasPrefix("#/$defs/"),
            let token = reference.dropFirst(8).removingPercentEncoding, !token.isEmpty, !token.holds("/")
        else { return nil }
        return token.replacing("~1", with: "/").replacing("~0", with: "~")
    }

    private mutating func definition(_ name: String, at pointer: String) throws(SchemaError) -> SchemaNode {
        guard let schema = definitions[ExactText(name)] else {
            throw SchemaError(at: pointer, "The schema has no $defs member \(JSONValue.quote(name)).")
        }
        guard !entered.contains(where: { $0.hasSameBytes(as: name) }) else {
            throw SchemaError(at: pointer, "The definition \(JSONValue.quote(name)) refers to itself.")
        }
        if let known = compiled[ExactText(name)] {
            try countKeywords(known.keywordCount, at: pointer)
            try countPatternSteps(known.patternSteps, at: pointer)
            try checkDepth(depth + known.height, at: pointer)
            return known.node
        }
        entered.append(name)
        defer { entered.removeLast() }
        let before = (keywords: keywordCount, steps: patternSteps, deepest: deepest)
        deepest = depth
        let node = try compile(schema, at: "/$defs/" + JSONPointer.escape(name))
        compiled[ExactText(name)] = Definition(
            node: node, keywordCount: keywordCount - before.keywords, patternSteps: patternSteps - before.steps,
            height: deepest - depth)
        deepest = max(deepest, before.deepest)
        return node
    }

    private mutating func countKeywords(_ count: Int, at pointer: String) throws(SchemaError) {
        keywordCount += count
        guard keywordCount <= JSONSchema.maximumKeywords else {
            throw SchemaError(
                at: pointer,
                """
                A schema may have at most \(JSONSchema.maximumKeywords) keywords, with each $ref counted in full, and \
                ten values or names in a list as a keyword.
                """)
        }
    }

    private mutating func countPatternSteps(_ count: Int, at pointer: String) throws(SchemaError) {
        patternSteps += count
        guard patternSteps <= JSONSchema.maximumPatternSteps else {
            throw SchemaError(at: pointer, "The patterns of the schema are too large together.")
        }
    }

    private mutating func checkDepth(_ depth: Int, at pointer: String) throws(SchemaError) {
        deepest = max(deepest, depth)
        guard depth <= JSONSchema.maximumDepth else {
            throw SchemaError(at: pointer, "Subschemas may be nested at most \(JSONSchema.maximumDepth) levels deep.")
        }
    }

    /// The number of values, names or subschemas in a keyword.
    private static func elementCount(_ keyword: JSONValue.Member) -> Int {
        guard !annotations.contains(keyword.name) else { return 0 }
        return switch keyword.value {
        case .array(let elements): elements.count
        // In `dependentRequired`, the names in the lists count too.
        case .object(let members):
            members.reduce(members.count) { count, member in
                if keyword.name == "dependentRequired", case .array(let names) = member.value {
                    count + names.count
                } else {
                    count
                }
            }
        default: 0
        }
    }

    private mutating func compile(_ schema: JSONValue, at pointer: String) throws(SchemaError) -> SchemaNode {
        if case .bool(let allows) = schema { return allows ? .anything : .nothing }
        guard case .object(let members) = schema else {
            throw SchemaError(at: pointer, "Expected a schema: an object, true or false.")
        }
        depth += 1
        defer { depth -= 1 }
        try checkDepth(depth, at: pointer)
        var rules: [SchemaRule] = []
        for member in members {
            try countKeywords(1 + Self.elementCount(member) / 10, at: pointer)
            let place = pointer + "/" + JSONPointer.escape(member.name)
            if let rule = try rule(member, of: schema, at: place, isRoot: pointer.isEmpty) { rules.append(rule) }
        }
        let node: SchemaNode = rules.isEmpty ? .anything : .rules(rules)
        try checkDefault(of: schema, node, at: pointer)
        return node
    }

    /// A default that does not fit would refuse every object that it is filled into.
    private mutating func checkDefault(of schema: JSONValue, _ node: SchemaNode, at pointer: String) throws(SchemaError)
    {
        guard let value = schema["default"],
            let violation = SchemaChecker.violations(of: value, node, limit: 1, checksLeft: &checksLeft).first
        else { return }
        throw SchemaError(at: pointer + "/default", "The default does not fit its own schema. " + violation.message)
    }

    private mutating func rule(
        _ member: JSONValue.Member, of schema: JSONValue, at place: String, isRoot: Bool
    ) throws(SchemaError) -> SchemaRule? {
        let value = member.value
        switch member.name {
        case "$defs": if !isRoot { throw SchemaError(at: place, "$defs must be at the top of the schema.") }
        case "$schema":
            guard value == .string(Self.dialect) else {
                throw SchemaError(at: place, "Only JSON Schema 2020-12 is supported: \(Self.dialect).")
            }
        case "$ref":
            guard let name = Self.definitionName(in: schema) else {
                throw SchemaError(
                    at: place, "Only references to the schema's own definitions are supported: #/$defs/….")
            }
            return .allOf([try definition(name, at: place)])
        case "type": return .types(try Self.types(value, at: place))
        case "className": return .classNames(try Self.classNames(value, beside: schema["type"], at: place))
        case "enum": return try Self.values(value, at: place)
        case "const": return .values([EqualityKey(value)], keyword: "const")
        case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
            return try Self.numberRule(member, at: place)
        case "minLength": return .atLeast(try Self.count(value, at: place), .character)
        case "maxLength": return .atMost(try Self.count(value, at: place), .character)
        case "minItems": return .atLeast(try Self.count(value, at: place), .element)
        case "maxItems": return .atMost(try Self.count(value, at: place), .element)
        case "minProperties": return .atLeast(try Self.count(value, at: place), .member)
        case "maxProperties": return .atMost(try Self.count(value, at: place), .member)
        case "pattern": return .pattern(try pattern(value, at: place))
        case "uniqueItems":
            guard case .bool(let isUnique) = value else { throw SchemaError(at: place, "Expected true or false.") }
            return isUnique ? .uniqueItems : nil
        case "items":
            let first = try schema["prefixItems"].map { prefix throws(SchemaError) in
                try Self.elements(prefix, at: place).count
            }
            return .items(try compile(value, at: place), after: first ?? 0)
        case "prefixItems": return .prefixItems(try nodes(value, at: place))
        case "contains": return .contains(try compile(value, at: place))
        case "properties":
            // `additionalProperties` is part of the same rule, because it applies to all names that
            // `properties` does not list.
            let others = schema["additionalProperties"].map { ($0, Self.sibling("additionalProperties", of: place)) }
            return .properties(
                try properties(value, at: place),
                others: try others.map { other throws(SchemaError) in
                    try compile(other.0, at: other.1)
                } ?? .anything)
        case "additionalProperties":
            guard schema["properties"] == nil else { return nil }
            return .properties([:], others: try compile(value, at: place))
        case "required": return .required(try Self.names(value, at: place))
        case "dependentRequired":
            var rules: [(name: String, others: [String])] = []
            for member in try Self.members(value, at: place) {
                rules.append((member.name, try Self.names(member.value, at: place)))
            }
            return .dependentRequired(rules)
        case "propertyNames": return .propertyNames(try compile(value, at: place))
        case "allOf": return .allOf(try nodes(value, at: place))
        case "anyOf": return .anyOf(try nodes(value, at: place))
        case "oneOf": return .oneOf(try nodes(value, at: place))
        case "not": return .not(try compile(value, at: place))
        case let name where Self.annotations.contains(name): break
        case let name where Self.unsupported.contains(name):
            throw SchemaError(at: place, "The keyword \(name) is not supported.")
        case let name:
            let question = NearMiss.question(for: name, among: Self.keywords.union(Self.annotations))
            throw SchemaError(at: place, "\(JSONValue.quote(String(name.prefix(64)))) is not a keyword.\(question)")
        }
        return nil
    }

    private static func sibling(_ name: String, of place: String) -> String {
        place.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(place[..<$0]) + "/" + name } ?? name
    }

    private mutating func nodes(_ value: JSONValue, at place: String) throws(SchemaError) -> [SchemaNode] {
        let elements = try Self.elements(value, at: place)
        guard !elements.isEmpty else { throw SchemaError(at: place, "Expected at least one schema.") }
        var nodes: [SchemaNode] = []
        for (index, element) in elements.enumerated() { nodes.append(try compile(element, at: "\(place)/\(index)")) }
        return nodes
    }

    private mutating func properties(
        _ value: JSONValue, at place: String
    ) throws(SchemaError) -> [ExactText: SchemaNode] {
        var nodes: [ExactText: SchemaNode] = [:]
        for member in try Self.members(value, at: place) {
            nodes[ExactText(member.name)] = try compile(
                member.value, at: place + "/" + JSONPointer.escape(member.name))
        }
        return nodes
    }

    /// Patterns may be applied to longer texts here than in the conditions of flags.
    private mutating func pattern(_ value: JSONValue, at place: String) throws(SchemaError) -> TextPattern {
        guard case .string(let text) = value else { throw SchemaError(at: place, "Expected a regular expression.") }
        let pattern: TextPattern
        do throws(TextPatternError) {
            pattern = try TextPattern(text, maximumTextLength: 65_536, maximumWork: 2_000_000)
        } catch {
            throw SchemaError(at: place, error.message)
        }
        try countPatternSteps(pattern.stepCount, at: place)
        return pattern
    }
}

// MARK: - Values of keywords

extension SchemaCompiler {
    fileprivate static func members(_ value: JSONValue, at place: String) throws(SchemaError) -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw SchemaError(at: place, "Expected an object.") }
        return members
    }

    fileprivate static func elements(_ value: JSONValue, at place: String) throws(SchemaError) -> [JSONValue] {
        guard case .array(let elements) = value else { throw SchemaError(at: place, "Expected a list.") }
        return elements
    }

    /// A list of different strings.
    fileprivate static func names(_ value: JSONValue, at place: String) throws(SchemaError) -> [String] {
        let elements = try elements(value, at: place)
        let names = elements.compactMap { if case .string(let name) = $0 { name } else { nil } }
        guard names.count == elements.count, Set(names.map(ExactText.init)).count == names.count else {
            throw SchemaError(at: place, "Expected a list of different names.")
        }
        return names
    }

    /// A string, or a list of strings that is not empty.
    private static func oneOrMore(_ value: JSONValue, at place: String) throws(SchemaError) -> [String] {
        if case .string(let name) = value { return [name] }
        let names = try names(value, at: place)
        guard !names.isEmpty else { throw SchemaError(at: place, "Expected at least one name.") }
        return names
    }

    fileprivate static func types(_ value: JSONValue, at place: String) throws(SchemaError) -> [ValueType] {
        let all = ValueType.allCases.map(\.rawValue)
        var types: [ValueType] = []
        for name in try oneOrMore(value, at: place) {
            guard let type = ValueType(rawValue: name) else {
                throw SchemaError(
                    at: place,
                    "\(JSONValue.quote(String(name.prefix(64)))) is not a type. Expected one of "
                        + all.joined(separator: ", ") + "." + NearMiss.question(for: name, among: all))
            }
            types.append(type)
        }
        return types
    }

    fileprivate static func classNames(
        _ value: JSONValue, beside type: JSONValue?, at place: String
    ) throws(SchemaError) -> [String] {
        guard let type, try types(type, at: place).contains(where: \.hasClassName) else {
            throw SchemaError(at: place, "className needs the type Pointer or Relation beside it.")
        }
        return try oneOrMore(value, at: place)
    }

    fileprivate static func values(_ value: JSONValue, at place: String) throws(SchemaError) -> SchemaRule {
        let elements = try elements(value, at: place)
        guard !elements.isEmpty else { throw SchemaError(at: place, "Expected at least one value.") }
        return .values(Set(elements.map(EqualityKey.init)), keyword: "enum")
    }

    fileprivate static func numberRule(
        _ member: JSONValue.Member, at place: String
    ) throws(SchemaError) -> SchemaRule {
        guard case .number(let literal) = member.value, let number = ExactNumber(literal) else {
            throw SchemaError(at: place, "Expected a number.")
        }
        switch member.name {
        case "minimum": return .minimum(number, literal: literal, isExclusive: false)
        case "exclusiveMinimum": return .minimum(number, literal: literal, isExclusive: true)
        case "maximum": return .maximum(number, literal: literal, isExclusive: false)
        case "exclusiveMaximum": return .maximum(number, literal: literal, isExclusive: true)
        default:
            let most = ExactNumber.maximumDivisorDigits
            guard !number.isNegative, (1...most).contains(number.digits.count) else {
                throw SchemaError(at: place, "Expected a number above zero with at most \(most) significant digits.")
            }
            return .multipleOf(number, literal: literal)
        }
    }

    fileprivate static func count(_ value: JSONValue, at place: String) throws(SchemaError) -> Int {
        // In JSON Schema, 2.0 is an integer, too.
        guard case .number(let literal) = value, let number = ExactNumber(literal), number.isInteger,
            !number.isNegative, number.digits.count + number.exponent <= 9
        else { throw SchemaError(at: place, "Expected a whole number from 0 to 999999999.") }
        return (number.digits + [UInt8](repeating: 0, count: number.exponent)).reduce(0) { $0 * 10 + Int($1) }
    }
}
