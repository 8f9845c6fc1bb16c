import MartletFlagValues
import MartletKit

/// Compiles conditions to functions. The language is that of the server's `ConditionCompiler`, without what
/// `LocalConditions` refuses; both must be changed together.
///
/// - Throws: `Unsupported`.
enum LocalCondition {
    typealias Test = @Sendable (FlagValue) -> Bool

    /// A test of all attributes, which are an object.
    static func test(_ json: FlagValue) throws -> Test {
        guard case .object(let members) = json else { throw Unsupported() }
        return all(try members.map { try test($0.key, $0.value) })
    }

    private static func test(_ name: String, _ json: FlagValue) throws -> Test {
        switch name {
        case "$and": return all(try list(json).map { try test($0) })
        case "$or", "$nor":
            let tests = try list(json).map { try test($0) }
            let isExpected = name == "$or"
            // An empty list matches everyone.
            return { root in (tests.isEmpty || tests.contains { $0(root) }) == isExpected }
        case "$not":
            let test = try test(json)
            return { !test($0) }
        case "$percent": return try percent(json)
        default:
            guard !name.hasPrefix("$") else { throw Unsupported() }
            let path = name.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
            let test = try value(json)
            return { root in test(path.reduce(root) { value, name in value[name] }) }
        }
    }

    private static func percent(_ json: FlagValue) throws -> Test {
        guard case .object(let members) = json, Set(["seed", "from", "to", "by"]).isSuperset(of: members.keys),
            case .string(let seed)? = members["seed"], case .string(let name) = members["by"] ?? .string("id"),
            case .number(let from) = members["from"] ?? .number(0), case .number(let to) = members["to"] ?? .number(100)
        else { throw Unsupported() }
        let range = BucketRange(from / 100, to / 100)
        return { root in
            let value = root[name]
            return value.isTruthy && range.contains(FlagHash.version2.bucket(of: value.text, seed: seed))
        }
    }

    // MARK: Values

    private static func value(_ json: FlagValue) throws -> Test {
        guard case .object(let members) = json, isOperators(members) else { return plain(json) }
        return all(try members.map { try operation($0.key, $0.value) })
    }

    private static func isOperators(_ members: [String: FlagValue]) -> Bool {
        !members.isEmpty && members.keys.allSatisfy { $0.hasPrefix("$") }
    }

    private static func plain(_ json: FlagValue) -> Test {
        switch json {
        case .string(let text): return { $0.text == text }
        case .number(let number): return { $0.number == number }
        case .bool(let truth): return { $0 != .null && $0.isTruthy == truth }
        case .null, .array, .object: return { $0 == json }
        }
    }

    private static func operation(_ name: String, _ json: FlagValue) throws -> Test {
        switch name {
        case "$eq": return { $0.isStrictlyEqual(to: json) }
        case "$ne": return { !$0.isStrictlyEqual(to: json) }
        case "$lt": return { $0.isOrdered(.less, json) }
        case "$lte": return { $0.isOrdered(.lessOrEqual, json) }
        case "$gt": return { $0.isOrdered(.greater, json) }
        case "$gte": return { $0.isOrdered(.greaterOrEqual, json) }
        case "$veq", "$vne":
            let (version, isEqual) = (PaddedVersion(json), name == "$veq")
            return { (PaddedVersion($0) == version) == isEqual }
        case "$vlt": return version(.less, json)
        case "$vlte": return version(.lessOrEqual, json)
        case "$vgt": return version(.greater, json)
        case "$vgte": return version(.greaterOrEqual, json)
        case "$exists":
            let exists = json.isTruthy
            return { ($0 != .null) == exists }
        case "$type":
            let type = json.text
            return { $0.typeName == type }
        case "$in", "$nin", "$ini", "$nini": return try contains(json, isIn: !name.hasPrefix("$n"), name.hasSuffix("i"))
        case "$not":
            let test = try value(json)
            return { !test($0) }
        case "$size":
            let test = try value(json)
            return { elements($0).map { test(.number(Double($0.count))) } ?? false }
        case "$all", "$alli":
            let tests = try list(json).map { name == "$alli" ? try ignoringCase($0) : try value($0) }
            return { value in
                guard let elements = elements(value) else { return false }
                return tests.allSatisfy { elements.contains(where: $0) }
            }
        case "$elemMatch":
            let test: Test
            if case .object(let members) = json, !isOperators(members) {
                test = try Self.test(json)
            } else {
                test = try value(json)
            }
            return { elements($0)?.contains { $0.isTruthy && test($0) } ?? false }
        default: throw Unsupported()
        }
    }

    private static func version(_ comparison: Comparison, _ json: FlagValue) -> Test {
        let version = PaddedVersion(json)
        return { PaddedVersion($0).isOrdered(comparison, version) }
    }

    /// Whether a value, or an element of it, is in the list.
    private static func contains(_ json: FlagValue, isIn: Bool, _ ignoresCase: Bool) throws -> Test {
        @Sendable func lowercased(_ value: FlagValue) -> FlagValue {
            if ignoresCase, case .string(let text) = value { .string(text.lowercased()) } else { value }
        }
        // As in JavaScript, a list or object equals only itself.
        let values = Set(try list(json).filter { $0.isStrictlyEqual(to: $0) }.map(lowercased))
        return { value in
            let candidates = elements(value) ?? [value]
            return candidates.contains { values.contains(lowercased($0)) } == isIn
        }
    }

    private static func ignoringCase(_ json: FlagValue) throws -> Test {
        guard case .string(let text) = json else { return try value(json) }
        let lowercased = text.lowercased()
        return { $0.text.lowercased() == lowercased }
    }

    private static func all(_ tests: [Test]) -> Test {
        return { value in tests.allSatisfy { $0(value) } }
    }

    private static func list(_ json: FlagValue) throws -> [FlagValue] {
        guard let elements = elements(json) else { throw Unsupported() }
        return elements
    }

    private static func elements(_ value: FlagValue) -> [FlagValue]? {
        if case .array(let elements) = value { elements } else { nil }
    }
}

extension FlagValue {
    /// The same conversion as on the server.
    init(_ json: JSON) {
        self =
            switch json {
            case .null: .null
            case .bool(let value): .bool(value)
            case .number(let number): .number(number.double)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map { FlagValue($0) })
            case .object(let members): .object(members.mapValues { FlagValue($0) })
            }
    }
}
