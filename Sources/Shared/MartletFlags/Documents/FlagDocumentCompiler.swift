public import MartletCore
import MartletFlagValues

/// Compiles `{"flags":{…},"conditions":{…},"savedGroups":{…}}` and reports everything that is wrong or doubtful in it.
public struct FlagDocumentCompiler {
    var compiler = FeatureCompiler()
    var local = LocalConditions()
    var localSizeInBytes = 0

    public init() {}

    public var issues: [FlagIssue] { compiler.issues }

    public mutating func compile(_ document: JSONValue) -> FlagDocument {
        let conditions = named("conditions", in: document, upTo: FlagDocument.maximumConditions)
        let groups = named("savedGroups", in: document, upTo: FlagDocument.maximumGroups).mapValues(FlagValue.init)
        compiler.conditions = ConditionCompiler(
            named: conditions, groups: groups.compactMapValues(\.list), log: compiler.conditions.log)
        local = LocalConditions(named: conditions)
        for name in groups.keys.sorted() where groups[name]?.list == nil {
            error("wrong-type", "/savedGroups".pointer(to: name), "A group must be a list.")
        }
        allow(["flags", "conditions", "savedGroups", "description"], in: document, "")
        let flags = compileFlags(document)
        checkNames(conditions, groups, in: document)
        checkPrerequisites(of: flags.features)
        return FlagDocument(flags: flags.list, features: flags.features, instants: compiler.conditions.instants)
    }

    private mutating func compileFlags(_ document: JSONValue) -> (list: [FlagDocument.Flag], features: FeatureSet) {
        var list: [FlagDocument.Flag] = []
        var features = FeatureSet()
        let members = compiler.members(document["flags"], "/flags")
        limit(members.count, FlagDocument.maximumFlags, "/flags", "flags")
        for member in members.prefix(FlagDocument.maximumFlags) {
            let path = "/flags".pointer(to: member.name)
            guard features.features[member.name] == nil else {
                error("duplicate-name", path, "There are two flags with this key.")
                continue
            }
            guard Self.isKey(member.name) else {
                error(
                    "invalid-name", path,
                    "A key must be 1 to \(FlagDocument.maximumNameLength) letters, digits and . _ - :, "
                        + "starting with a letter, digit or _.")
                continue
            }
            let (flag, feature) = compileFlag(member.name, member.value, path)
            list.append(flag)
            features.features[member.name] = feature
            if !flag.isEnabled { features.disabled.insert(member.name) }
        }
        return (list, features)
    }

    private mutating func compileFlag(_ key: String, _ json: JSONValue, _ path: String) -> (FlagDocument.Flag, Feature)
    {
        allow(
            ["type", "default", "description", "enabled", "variants", "schema", "rules", "tags", "localEvaluation"],
            in: json, path)
        _ = compiler.text(json, "description", path)
        let kind = kind(json, path)
        var check = FlagValueCheck(kind: kind)
        if let schema = json["schema"] {
            check.schema = ValueSchema(schema, at: path.pointer(to: "schema"), log: &compiler.conditions.log)
        }
        let variants = variants(json, check, path)
        let value = json["default"] ?? .null
        if json["default"] == nil {
            error("missing-field", path.pointer(to: "default"), "This field is required.")
        } else {
            check.check(value, at: path.pointer(to: "default"), log: &compiler.conditions.log)
        }
        var feature = Feature(defaultValue: FeatureValue(value))
        var names: [String?] = []
        var isPartial: [Bool] = []
        var localRules: [String]? = compiler.boolean(json, "localEvaluation", path) == true ? [] : nil
        if localRules != nil { countLocal(feature.defaultValue.text, path) }
        let rules = compiler.elements(json["rules"], path.pointer(to: "rules"))
        limit(rules.count, FlagDocument.maximumRules, path.pointer(to: "rules"), "rules")
        for (index, rule) in rules.prefix(FlagDocument.maximumRules).enumerated() {
            let compiled = compileRule(
                rule, of: key, check, variants, index: index, path.pointer(to: "rules").pointer(to: index))
            names.append(compiled.variant)
            isPartial.append(compiled.isPartial)
            feature.rules.append(compiled.rule)
            localRules?.append(localRule(compiled, rule, of: key, at: index, path))
        }
        checkReach(feature.rules, path.pointer(to: "rules"))
        let name =
            variants.first { $0.json == value }?.name ?? (kind == .boolean ? FlagVariant.name(of: value) : "default")
        let flag = FlagDocument.Flag(
            key: key, kind: kind, isEnabled: compiler.boolean(json, "enabled", path) ?? true, defaultVariant: name,
            variants: names,
            isPartial: isPartial, localRules: localRules)
        return (flag, feature)
    }

    private mutating func kind(_ json: JSONValue, _ path: String) -> FlagDocument.Kind {
        if case .string(let text) = json["type"], let kind = FlagDocument.Kind(rawValue: text) { return kind }
        error("invalid-type", path.pointer(to: "type"), "The type must be boolean, number, string or json.")
        return .json
    }

    private mutating func variants(_ json: JSONValue, _ check: FlagValueCheck, _ path: String) -> [FlagVariant] {
        let path = path.pointer(to: "variants")
        let members = compiler.members(json["variants"], path)
        limit(members.count, FlagDocument.maximumVariants, path, "variants")
        var names: Set<String> = []
        for member in members {
            check.check(member.value, at: path.pointer(to: member.name), log: &compiler.conditions.log)
            if !names.insert(member.name).inserted {
                error("duplicate-name", path.pointer(to: member.name), "There are two variants with this name.")
            }
        }
        return members.map { FlagVariant(name: $0.name, $0.value) }
    }

    mutating func error(_ code: String, _ path: String, _ message: String) {
        compiler.conditions.log.error(code, at: path, message)
    }

    mutating func warning(_ code: String, _ path: String, _ message: String) {
        compiler.conditions.log.warning(code, at: path, message)
    }

    mutating func allow(_ known: Set<String>, in json: JSONValue, _ path: String) {
        for member in compiler.members(json, path) where !known.contains(member.name) {
            error("unknown-field", path.pointer(to: member.name), "This field is unknown.")
        }
    }

    mutating func limit(_ count: Int, _ maximum: Int, _ path: String, _ what: String) {
        if count > maximum { error("too-many", path, "There may be at most \(maximum) \(what).") }
    }

    private mutating func named(_ name: String, in document: JSONValue, upTo maximum: Int) -> [String: JSONValue] {
        let path = "/" + name
        let members = compiler.members(document[name], path)
        limit(members.count, maximum, path, name)
        var named: [String: JSONValue] = [:]
        for member in members.prefix(maximum) {
            if member.name.utf8.count > FlagDocument.maximumNameLength {
                // The path of each of its parts would contain the name.
                error(
                    "invalid-name", path.pointer(to: member.name),
                    "A name may have at most \(FlagDocument.maximumNameLength) bytes.")
            } else if named.updateValue(member.value, forKey: member.name) != nil {
                error("duplicate-name", path.pointer(to: member.name), "This name occurs twice.")
            }
        }
        return named
    }

    static func isKey(_ key: String) -> Bool {
        guard (1...FlagDocument.maximumNameLength).contains(key.utf8.count), let first = key.utf8.first else {
            return false
        }
        func isWord(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        return (isWord(first) || first == UInt8(ascii: "_"))
            && key.utf8.allSatisfy { isWord($0) || "._-:".utf8.contains($0) }
    }
}

/// A value of a flag. All rules that name a variant share its memory.
struct FlagVariant {
    /// Nil if it was written in place of a name.
    let name: String?
    let json: JSONValue
    let value: FeatureValue

    init(name: String? = nil, _ json: JSONValue) {
        self.name = name
        self.json = json
        value = FeatureValue(json)
    }

    /// The name of a boolean value that has none.
    static func name(of value: JSONValue) -> String { value == .bool(true) ? "on" : "off" }
}

extension FlagValue {
    fileprivate var list: [FlagValue]? { if case .array(let elements) = self { elements } else { nil } }
}
