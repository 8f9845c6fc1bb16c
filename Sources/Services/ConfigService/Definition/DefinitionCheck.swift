import Foundation
import MartletAPI
import MartletCore
import MartletLogic

/// Finds what is wrong or doubtful in an app definition.
struct DefinitionCheck {
    let app: AppDefinition
    let translations: LiveTranslations
    let operations: LogicOperations
    var findings: [Finding]
    /// Names that something refers to.
    var used: Set<String> = []

    init(_ document: JSONValue, translations: LiveTranslations) {
        var findings: [Finding] = []
        app = AppDefinition(document, &findings)
        self.findings = findings
        self.translations = translations
        var operations = LogicOperations.views()
        for name in app.requires.keys where operations[name] == nil { operations[name] = { _ in .null } }
        self.operations = operations
    }

    /// All findings.
    mutating func run() -> [Finding] {
        if let root = app.rootController { refer(to: root, in: app.controllers, "controller", at: "/root_controller") }
        for model in app.models { check(model: model) }
        for view in app.views {
            let path = "/views/" + JSONPointer.escape(view.name)
            checkName(view, at: path)
            if case .object = view.value { check(view: view.value, at: path) } else { note("bad-shape", path, "A view is an object.") }
        }
        for controller in app.controllers { check(controller: controller) }
        checkUse()
        var tree = ViewTree(app)
        findings += tree.check()
        return findings
    }

    mutating func note(_ code: String, _ path: String, _ message: String, _ severity: Finding.Severity = .error) {
        findings.append(Finding(severity, code, at: path, message))
    }

    mutating func refer(to name: String, in parts: [JSONValue.Member], _ what: String, at path: String) {
        used.insert(what + "/" + name)
        if !parts.contains(where: { $0.name == name }) { note("dangling-reference", path, "The app has no \(what) \"\(name)\".") }
    }

    /// A model is data, or the address of some.
    private mutating func check(model: JSONValue.Member) {
        guard case .string(let address) = model.value, !Self.isAddress(address) else { return }
        note("bad-url", "/models/" + JSONPointer.escape(model.name), "The address of a model is a path or an https URL.")
    }

    private mutating func check(controller: JSONValue.Member) {
        let path = "/controllers/" + JSONPointer.escape(controller.name)
        guard case .object(let members) = controller.value else { return note("bad-shape", path, "A controller is an object.") }
        checkName(controller, at: path)
        let kind = checkKind(controller.value["kind"], default: "ViewController", among: Component.controllers, hasFallback: false, at: path)
        if kind == "ViewController" || kind == "NavController", controller.value["render"] == nil {
            note("missing-member", path, "A \(kind) needs a view to render.")
        }
        for member in members {
            let path = path + "/" + JSONPointer.escape(member.name)
            switch (member.name, Component.controllerProperties[member.name]) {
            case ("actions", _): check(actions: member.value, at: path)
            case ("models", _): check(names: member.value, app.models, "model", at: path)
            case ("views", _): check(names: member.value, app.views, "view", at: path)
            case ("controllers", _): check(names: member.value, app.controllers, "controller", at: path)
            case (_, .structure): break
            case (_, let property?): check(member.value, as: property, at: path)
            case (_, nil): look(into: member.value, at: path)
            }
        }
    }

    /// What a controller of the manual lists here belongs to the app: only names are left.
    private mutating func check(names: JSONValue, _ parts: [JSONValue.Member], _ what: String, at path: String) {
        guard case .array(let elements) = names else { return note("bad-shape", path, "This must be a list of names: the \(what)s are the app's.") }
        for (index, element) in elements.enumerated() {
            guard case .string(let name) = element else {
                note("bad-shape", "\(path)/\(index)", "This must be a name.")
                continue
            }
            refer(to: name, in: parts, what, at: "\(path)/\(index)")
        }
    }

    mutating func check(actions: JSONValue, at path: String) {
        guard case .array(let actions) = actions else { return note("bad-shape", path, "This must be a list of actions.") }
        for (index, action) in actions.enumerated() { check(action: action, at: "\(path)/\(index)") }
    }

    private mutating func check(action: JSONValue, at path: String) {
        guard case .object(let members) = action else { return note("bad-shape", path, "An action is an object.") }
        guard case .string(let name)? = action["action"] else {
            let isEmpty = members.isEmpty
            return note("missing-member", path, isEmpty ? "This does nothing." : "Which action this is, is missing.", isEmpty ? .warning : .error)
        }
        if name == "openController", action["controller"] == nil { note("missing-member", path, "Which controller is to be opened, is missing.") }
        if !Component.actions.contains(name), app.requires[name] == nil {
            note("unknown-action", path + "/action", "No built-in kind answers \"\(name)\": if the host app does, name it in requires.", .warning)
        }
        if action["kind"] != nil {
            _ = checkKind(
                action["kind"], default: "", among: Component.controllers.union(Component.views), hasFallback: false, at: path)
        }
        for member in members {
            let path = path + "/" + JSONPointer.escape(member.name)
            switch Component.actionProperties[member.name] {
            case .structure: break
            case let property?: check(member.value, as: property, at: path)
            case nil: look(into: member.value, at: path)
            }
        }
    }

    private mutating func checkName(_ part: JSONValue.Member, at path: String) {
        guard let name = part.value["name"], name != .string(part.name) else { return }
        note("name-mismatch", path + "/name", "The name must be the one by which the app has it, \"\(part.name)\".")
    }

    /// Returns the kind.
    mutating func checkKind(
        _ value: JSONValue?, default standard: String, among builtIn: Set<String>, hasFallback: Bool, at path: String
    ) -> String {
        switch value {
        case nil: return standard
        case .string(let kind)?:
            if !builtIn.contains(kind), app.requires[kind] == nil, !hasFallback {
                note("unknown-kind", path + "/kind", "\"\(kind)\" is not built in: name it in requires, or say what its fallback is.")
            }
            return kind
        default:
            note("bad-shape", path + "/kind", "This must be a text.")
            return standard
        }
    }

    private mutating func checkUse() {
        for view in app.views where !used.contains("view/" + view.name) {
            note("unused-view", "/views/" + JSONPointer.escape(view.name), "Nothing shows this view.", .warning)
        }
        for controller in app.controllers where !used.contains("controller/" + controller.name) {
            note("unused-controller", "/controllers/" + JSONPointer.escape(controller.name), "Nothing opens this controller.", .warning)
        }
    }

    /// Least versions by name; nil for what has another shape.
    static func requirements(_ value: JSONValue) -> [String: Int]? {
        guard case .object(let members) = value, members.count <= AppDefinition.maximumRequirements else { return nil }
        var requirements: [String: Int] = [:]
        for member in members {
            guard case .number(let literal) = member.value, let version = Int(literal), (1...1_000_000).contains(version),
                DocumentKey.isName(member.name)
            else { return nil }
            requirements[member.name] = version
        }
        return requirements
    }
}
