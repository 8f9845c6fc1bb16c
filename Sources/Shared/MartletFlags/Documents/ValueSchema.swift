import Foundation
import MartletCore
import MartletFlagValues
import MartletPatterns

/// A check of values: the part of JSON Schema (2020-12) that documents of parameters use.
///
/// Supports `type, enum, const, properties, required, additionalProperties, items, minItems, maxItems, minimum,
/// maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern`, and annotations, which do not affect
/// values. Any other keyword is an error, because it would promise a check that never happens.
indirect enum ValueSchema {
    case anything
    case nothing
    case rules(Rules)

    struct Rules {
        var types: Set<String>?
        var allowed: [JSONValue]?
        var properties: [String: ValueSchema] = [:]
        var required: [String] = []
        var additional: ValueSchema = .anything
        var items: ValueSchema = .anything
        var itemCount = 0...Int.max
        var length = 0...Int.max
        var minimum: (bound: Double, isExclusive: Bool)?
        var maximum: (bound: Double, isExclusive: Bool)?
        var pattern: TextPattern?
    }

    static let maximumDepth = 16
    private static let annotations: Set<String> = [
        "title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated",
    ]

    init(_ json: JSONValue, at path: String, depth: Int = 0, log: inout IssueLog) {
        self = .anything
        switch json {
        case .bool(let allows): self = allows ? .anything : .nothing
        case .object(let members):
            guard depth < Self.maximumDepth else {
                log.error("too-deep", at: path, "Schemas may be nested at most \(Self.maximumDepth) levels deep.")
                return
            }
            var rules = Rules()
            for member in members where !Self.annotations.contains(member.name) {
                rules.read(member, json, path.pointer(to: member.name), depth, &log)
            }
            self = .rules(rules)
        default: log.error("invalid-schema", at: path, "A schema must be an object, true or false.")
        }
    }

    func check(_ value: JSONValue, at path: String, log: inout IssueLog) {
        switch self {
        case .anything: break
        case .nothing: log.error("schema-mismatch", at: path, "The schema allows no value here.")
        case .rules(let rules): rules.check(value, path, &log)
        }
    }
}

extension ValueSchema.Rules {
    fileprivate mutating func read(
        _ member: JSONValue.Member, _ schema: JSONValue, _ path: String, _ depth: Int, _ log: inout IssueLog
    ) {
        let value = member.value
        switch (member.name, value) {
        case ("type", .string(let name)): types = Self.types([name], path, &log)
        case ("type", .array(let names)): types = Self.types(names.map { FlagValue($0).text }, path, &log)
        case ("enum", .array(let values)): allowed = values
        case ("const", _): allowed = [value]
        case ("properties", .object(let members)):
            for member in members {
                properties[member.name] = ValueSchema(
                    member.value, at: path.pointer(to: member.name), depth: depth + 1, log: &log)
            }
        case ("required", .array(let names)): required = names.map { FlagValue($0).text }
        case ("additionalProperties", _): additional = ValueSchema(value, at: path, depth: depth + 1, log: &log)
        case ("items", _): items = ValueSchema(value, at: path, depth: depth + 1, log: &log)
        case ("minItems", .number(let text)):
            itemCount = Self.count(text, path, &log)...max(itemCount.upperBound, Self.count(text, path, &log))
        case ("maxItems", .number(let text)):
            itemCount = min(itemCount.lowerBound, Self.count(text, path, &log))...Self.count(text, path, &log)
        case ("minLength", .number(let text)):
            length = Self.count(text, path, &log)...max(length.upperBound, Self.count(text, path, &log))
        case ("maxLength", .number(let text)):
            length = min(length.lowerBound, Self.count(text, path, &log))...Self.count(text, path, &log)
        case ("minimum", .number(let text)): minimum = (Double(text) ?? 0, false)
        case ("maximum", .number(let text)): maximum = (Double(text) ?? 0, false)
        case ("exclusiveMinimum", .number(let text)): minimum = (Double(text) ?? 0, true)
        case ("exclusiveMaximum", .number(let text)): maximum = (Double(text) ?? 0, true)
        case ("pattern", .string(let text)):
            do { pattern = try TextPattern(text) } catch { log.error("invalid-pattern", at: path, error.message) }
        default:
            log.error(
                "invalid-schema", at: path,
                "The keyword \(member.name) is not supported or has the wrong type.")
        }
    }

    private static func types(_ names: [String], _ path: String, _ log: inout IssueLog) -> Set<String> {
        let known: Set<String> = ["string", "number", "integer", "boolean", "object", "array", "null"]
        if !known.isSuperset(of: names) {
            log.error("invalid-schema", at: path, "The type must be one of \(known.sorted().joined(separator: ", ")).")
        }
        return Set(names)
    }

    private static func count(_ text: String, _ path: String, _ log: inout IssueLog) -> Int {
        if let count = Int(text), count >= 0 { return count }
        log.error("invalid-schema", at: path, "Expected a whole number of at least 0, found \(text).")
        return 0
    }

    fileprivate func check(_ value: JSONValue, _ path: String, _ log: inout IssueLog) {
        if let types, types.isDisjoint(with: Self.types(of: value)) {
            return log.error(
                "schema-mismatch", at: path, "The schema requires the type \(types.sorted().joined(separator: " or "))."
            )
        }
        if let allowed, !allowed.contains(where: { FlagValue($0) == FlagValue(value) }) {
            log.error("schema-mismatch", at: path, "The value is not one of those in the schema.")
        }
        switch value {
        case .string(let text): check(text, path, &log)
        case .number(let text): check(Double(text) ?? .nan, path, &log)
        case .array(let elements):
            if !itemCount.contains(elements.count) {
                log.error("schema-mismatch", at: path, "The number of elements is outside the schema's limits.")
            }
            for (index, element) in elements.enumerated() {
                items.check(element, at: path.pointer(to: index), log: &log)
            }
        case .object(let members): check(members, path, &log)
        case .null, .bool: break
        }
    }

    private func check(_ text: String, _ path: String, _ log: inout IssueLog) {
        if !length.contains(text.unicodeScalars.count) {
            log.error("schema-mismatch", at: path, "The length of the text is outside the schema's limits.")
        }
        if let pattern, !pattern.isFound(in: text) {
            log.error("schema-mismatch", at: path, "The text does not match the schema's pattern.")
        }
    }

    private func check(_ number: Double, _ path: String, _ log: inout IssueLog) {
        let isHighEnough = minimum.map { $0.isExclusive ? number > $0.bound : number >= $0.bound } ?? true
        let isLowEnough = maximum.map { $0.isExclusive ? number < $0.bound : number <= $0.bound } ?? true
        if !isHighEnough || !isLowEnough {
            log.error("schema-mismatch", at: path, "The number is outside the schema's range.")
        }
    }

    private func check(_ members: [JSONValue.Member], _ path: String, _ log: inout IssueLog) {
        let names = Set(members.map(\.name))
        for name in required where !names.contains(name) {
            log.error("schema-mismatch", at: path.pointer(to: name), "The schema requires this member.")
        }
        for member in members {
            (properties[member.name] ?? additional).check(member.value, at: path.pointer(to: member.name), log: &log)
        }
    }

    private static func types(of value: JSONValue) -> Set<String> {
        switch value {
        case .null: ["null"]
        case .bool: ["boolean"]
        case .string: ["string"]
        case .array: ["array"]
        case .object: ["object"]
        case .number(let text): Double(text).map { $0 == $0.rounded() } ?? false ? ["number", "integer"] : ["number"]
        }
    }
}
