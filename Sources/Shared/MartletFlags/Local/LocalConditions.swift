public import MartletCore

/// Makes conditions that devices can evaluate: replaces named conditions by their content, and refuses what only the
/// server knows.
///
/// The conditions must have been compiled before; errors that the compiler reports are not reported again.
public struct LocalConditions {
    /// A part of a condition that devices cannot evaluate.
    public struct Refusal: Sendable, Equatable {
        public let code: String
        /// A JSON pointer into the document.
        public let path: String
        public let message: String
    }

    /// The maximum size of all conditions as JSON text.
    static let maximumSizeInBytes = 256 << 10
    /// The maximum number of levels of objects and arrays in a condition. MartletKit parses 64, and up to eight are
    /// around a condition. Values of flags cannot have so many, because documents have at most 32.
    static let maximumLevels = 56
    /// Named conditions may refer to each other in a circle.
    private static let maximumDepth = 300

    private let named: [String: JSONValue]
    private var sizeInBytes = 0
    public private(set) var refusals: [Refusal] = []

    public init(named: [String: JSONValue] = [:]) { self.named = named }

    /// The content of a rule's `when`: a condition, the name of one, or a list of names that must all match.
    public mutating func resolve(_ when: JSONValue, at path: String) -> JSONValue {
        let resolved = replacingNames(when, path)
        if resolved.levels > Self.maximumLevels {
            refuse(
                path,
                "Conditions for devices may have at most \(Self.maximumLevels) levels of objects and arrays, with the "
                    + "content of named conditions.")
        }
        return resolved
    }

    /// Whether a device may have another value of the attribute whose hash is asked for.
    static func differs(_ attribute: JSONValue?) -> Bool { attribute == .string("now") || attribute == .string("user") }

    /// Returns the refusals and forgets them.
    mutating func takeRefusals() -> [Refusal] {
        defer { refusals = [] }
        return refusals
    }

    private mutating func replacingNames(_ when: JSONValue, _ path: String) -> JSONValue {
        switch when {
        case .string: return reference(when, path, 0)
        case .array(let names):
            let conditions = names.enumerated().map { reference($1, path.pointer(to: $0), 0) }
            return .object([.init("$and", .array(conditions))])
        default: return condition(when, path, 0)
        }
    }

    private mutating func reference(_ name: JSONValue, _ path: String, _ depth: Int, isElement: Bool = false)
        -> JSONValue
    {
        guard case .string(let name) = name, let json = named[name] else { return .object([]) }
        return condition(json, "/conditions".pointer(to: name), depth, isElement: isElement)
    }

    /// - Parameter isElement: Whether the condition tests elements of a list instead of the user's attributes.
    private mutating func condition(_ json: JSONValue, _ path: String, _ depth: Int, isElement: Bool = false)
        -> JSONValue
    {
        // An empty condition counts, too: a list of them may be used many times.
        guard case .object(let members) = json, depth < Self.maximumDepth, count(2, path) else { return .object([]) }
        var tests: [JSONValue.Member] = []
        var references: [JSONValue] = []
        for member in members {
            let path = path.pointer(to: member.name)
            guard count(member.name.utf8.count + 8, path) else { break }
            if member.name == "$condition" {
                references.append(reference(member.value, path, depth + 1, isElement: isElement))
            } else {
                tests.append(.init(member.name, test(member, path, depth + 1, isElement)))
            }
        }
        let own = JSONValue.object(tests)
        return references.isEmpty ? own : .object([.init("$and", .array([own] + references))])
    }

    private mutating func test(_ member: JSONValue.Member, _ path: String, _ depth: Int, _ isElement: Bool) -> JSONValue
    {
        switch member.name {
        case "$or", "$nor", "$and":
            guard case .array(let conditions) = member.value else { return .array([]) }
            return .array(
                conditions.enumerated().map { condition($1, path.pointer(to: $0), depth, isElement: isElement) })
        case "$not": return condition(member.value, path, depth, isElement: isElement)
        case "$percent":
            if member.value["hash"] != nil { refuse(path, "Devices do not have the hash sha256.") }
            if Self.differs(member.value["by"]) {
                refuse(
                    path.pointer(to: "by"), "Shares cannot depend on now or user, whose values on devices may differ.")
            }
            return plain(member.value, path)
        default:
            if let reason = Self.reason(against: member.name, isElement) {
                refuse(path, reason)
                return .null
            }
            return value(member.value, path, depth)
        }
    }

    /// Why devices cannot test an attribute.
    private static func reason(against name: String, _ isElement: Bool) -> String? {
        if name.hasPrefix("$") { return "Devices do not evaluate \(name)." }
        let names = name.split(separator: ".", omittingEmptySubsequences: false)
        if isElement { return nil }
        if names.first == "now" { return "A device's clock may be wrong, so only the server tests now." }
        return names.first == "user" && names != ["user", "id"]
            ? "Of the signed-in user, devices know only user.id." : nil
    }

    private mutating func value(_ json: JSONValue, _ path: String, _ depth: Int) -> JSONValue {
        guard let members = json.operators else { return plain(json, path) }
        guard depth < Self.maximumDepth else { return .object([]) }
        var tests: [JSONValue.Member] = []
        for member in members {
            let path = path.pointer(to: member.name)
            guard count(member.name.utf8.count + 8, path) else { break }
            tests.append(.init(member.name, operand(member, path, depth + 1)))
        }
        return .object(tests)
    }

    private mutating func operand(_ member: JSONValue.Member, _ path: String, _ depth: Int) -> JSONValue {
        switch member.name {
        case "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$veq", "$vne", "$vlt", "$vlte", "$vgt", "$vgte", "$exists",
            "$in", "$nin", "$ini", "$nini", "$type":
            return plain(member.value, path)
        case "$not", "$size": return value(member.value, path, depth)
        case "$all", "$alli":
            guard case .array(let elements) = member.value else { return .array([]) }
            return .array(elements.enumerated().map { value($1, path.pointer(to: $0), depth) })
        case "$elemMatch":
            if case .object = member.value, member.value.operators == nil {
                return condition(member.value, path, depth, isElement: true)
            }
            return value(member.value, path, depth)
        case "$inGroup", "$notInGroup":
            refuse(path, "Saved groups stay on the server; list the values with $in if everyone may read them.")
            return .null
        default:
            refuse(path, "Devices do not evaluate \(member.name).")
            return .null
        }
    }

    private mutating func plain(_ json: JSONValue, _ path: String) -> JSONValue {
        _ = count(json.text.utf8.count, path)
        return json
    }

    /// False if the conditions are too large: a named condition counts each time it is used.
    private mutating func count(_ bytes: Int, _ path: String) -> Bool {
        let wasTooLarge = sizeInBytes > Self.maximumSizeInBytes
        sizeInBytes += bytes
        guard sizeInBytes > Self.maximumSizeInBytes else { return true }
        if !wasTooLarge {
            refuse(path, "The conditions for devices may have at most \(Self.maximumSizeInBytes) bytes.", "too-large")
        }
        return false
    }

    private mutating func refuse(_ path: String, _ message: String, _ code: String = "not-local") {
        refusals.append(Refusal(code: code, path: path, message: message))
    }
}

extension JSONValue {
    fileprivate var levels: Int {
        switch self {
        case .null, .bool, .number, .string: 0
        case .array(let elements): 1 + (elements.map(\.levels).max() ?? 0)
        case .object(let members): 1 + (members.map(\.value.levels).max() ?? 0)
        }
    }
}
