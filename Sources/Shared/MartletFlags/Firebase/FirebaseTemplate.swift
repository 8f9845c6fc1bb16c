public import MartletCore

/// Converts a Firebase Remote Config template, as exported by its console, to a flag document.
///
/// Each entry of `conditions` becomes a named condition, and each parameter's `conditionalValues` become rules in the
/// order of the conditions. Values get the type in `valueType`. Percentages keep Firebase's SHA-256. Anything without
/// an exact equivalent is an error with its place in the template; nothing is guessed.
public enum FirebaseTemplate {
    public static func translate(_ template: JSONValue) -> (document: JSONValue, issues: [FlagIssue]) {
        var translation = Translation()
        let document = translation.document(template)
        return (document, translation.log.issues)
    }

    private struct Translation {
        var log = IssueLog()
        private var conditionNames: [String] = []
        private var flags: [JSONValue.Member] = []
        private var keys: Set<String> = []

        mutating func document(_ template: JSONValue) -> JSONValue {
            if template["parameters"] == nil, template["parameterGroups"] == nil {
                log.error(
                    "missing-field", at: "/parameters", "Expected a Remote Config template, found no parameters.")
            }
            let conditions = conditions(template["conditions"])
            add(template["parameters"], "/parameters")
            for group in members(template["parameterGroups"], "/parameterGroups") {
                add(group.value["parameters"], "/parameterGroups".pointer(to: group.name).pointer(to: "parameters"))
            }
            return .object([.init("flags", .object(flags)), .init("conditions", .object(conditions))])
        }

        private mutating func conditions(_ json: JSONValue?) -> [JSONValue.Member] {
            elements(json, "/conditions").enumerated().compactMap { index, condition -> JSONValue.Member? in
                let path = "/conditions".pointer(to: index)
                guard case .string(let name) = condition["name"], case .string(let text) = condition["expression"]
                else {
                    log.error("missing-field", at: path, "A condition must have a name and an expression.")
                    return nil
                }
                if conditionNames.contains(name) {
                    log.error("duplicate-name", at: path.pointer(to: "name"), "This name occurs twice.")
                }
                conditionNames.append(name)
                do throws(FirebaseExpressionError) {
                    var expression = try FirebaseExpression(text)
                    return .init(name, try expression.parse())
                } catch {
                    log.error("untranslatable-condition", at: path.pointer(to: "expression"), error.message)
                    return nil
                }
            }
        }

        private mutating func add(_ parameters: JSONValue?, _ path: String) {
            for parameter in members(parameters, path) {
                let path = path.pointer(to: parameter.name)
                guard keys.insert(parameter.name).inserted else {
                    log.error("duplicate-name", at: path, "There are two parameters with this key.")
                    continue
                }
                flags.append(.init(parameter.name, flag(parameter.value, path)))
            }
        }

        private mutating func flag(_ parameter: JSONValue, _ path: String) -> JSONValue {
            var members: [JSONValue.Member] = []
            if case .string(let text)? = parameter["description"], !text.isEmpty {
                members.append(.init("description", .string(text)))
            }
            let type = if case .string(let text)? = parameter["valueType"] { text } else { "STRING" }
            guard let kind = FlagDocument.Kind(rawValue: type.lowercased()) else {
                log.error("invalid-type", at: path.pointer(to: "valueType"), "The type \(type) is unknown.")
                return .object(members)
            }
            members.append(.init("type", .string(kind.rawValue)))
            let defaultPath = path.pointer(to: "defaultValue")
            if let value = parameter["defaultValue"] {
                members.append(.init("default", self.value(value, kind, defaultPath)))
            } else {
                log.error(
                    "missing-field", at: defaultPath,
                    "A parameter without a default value cannot become a flag; every flag needs a default.")
            }
            let rules = rules(parameter["conditionalValues"], kind, path.pointer(to: "conditionalValues"))
            if !rules.isEmpty { members.append(.init("rules", .array(rules))) }
            return .object(members)
        }

        private mutating func rules(_ json: JSONValue?, _ kind: FlagDocument.Kind, _ path: String) -> [JSONValue] {
            let values = members(json, path)
            for member in values where !conditionNames.contains(member.name) {
                log.error(
                    "unknown-condition", at: path.pointer(to: member.name),
                    "There is no condition named \(member.name).")
            }
            return conditionNames.compactMap { name in
                values.first { $0.name == name }.map {
                    .object([
                        .init("when", .string(name)), .init("value", value($0.value, kind, path.pointer(to: name))),
                    ])
                }
            }
        }

        /// Firebase stores every value as text.
        private mutating func value(_ json: JSONValue, _ kind: FlagDocument.Kind, _ path: String) -> JSONValue {
            for name in ["useInAppDefault", "personalizationValue", "rolloutValue", "experimentValue"]
            where json[name] != nil && json[name] != .bool(false) {
                log.error(
                    "untranslatable-value", at: path.pointer(to: name),
                    "\(name) has no equivalent here; give a value.")
                return .null
            }
            guard case .string(let text)? = json["value"] else {
                let found = json["value"]?.phrase ?? "nothing"
                log.error("missing-field", at: path.pointer(to: "value"), "Expected a string, found \(found).")
                return .null
            }
            if let value = Self.value(text, kind) { return value }
            log.error("wrong-type", at: path.pointer(to: "value"), "This text cannot be read as \(kind.rawValue).")
            return .null
        }

        private static func value(_ text: String, _ kind: FlagDocument.Kind) -> JSONValue? {
            switch kind {
            case .string: return .string(text)
            case .boolean: return ["true": JSONValue.bool(true), "false": .bool(false)][text.lowercased()]
            case .number, .json:
                let value = try? JSONValue(parsing: text.utf8)
                if case .number = value { return value }
                return kind == .json ? value : nil
            }
        }

        private mutating func members(_ json: JSONValue?, _ path: String) -> [JSONValue.Member] {
            switch json {
            case nil, .null: return []
            case .object(let members): return members
            case let value?:
                log.error("wrong-type", at: path, "Expected an object, found \(value.phrase).")
                return []
            }
        }

        private mutating func elements(_ json: JSONValue?, _ path: String) -> [JSONValue] {
            switch json {
            case nil, .null: return []
            case .array(let elements): return elements
            case let value?:
                log.error("wrong-type", at: path, "Expected an array, found \(value.phrase).")
                return []
            }
        }
    }
}
