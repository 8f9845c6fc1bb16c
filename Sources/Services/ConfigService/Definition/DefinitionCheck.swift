import Foundation
import MartletAPI
import MartletCore
import MartletLogic

/// Finds the errors of an app definition, and values that deserve a warning.
struct DefinitionCheck {
    let app: AppDefinition
    let translations: LiveTranslations
    let operations: LogicOperations
    var findings: [Finding]
    /// The names of referenced parts, such as `view/EventDetailView`.
    var used: Set<String> = []
    /// The translation keys that have been checked.
    var checkedKeys: Set<String> = []

    init(_ document: JSONValue, translations: LiveTranslations) {
        var findings: [Finding] = []
        app = AppDefinition(document, &findings)
        self.findings = findings
        self.translations = translations
        var operations = LogicOperations.views()
        for name in app.requires.keys where operations[name] == nil { operations[name] = { _ in .null } }
        self.operations = operations
    }

    /// Runs all checks.
    mutating func run() -> [Finding] {
        // A definition that is too large is not checked further.
        if findings.contains(where: { $0.code == "too-many-parts" }) { return findings }
        if let root = app.rootController { refer(to: root, in: app.controllers, "controller", at: "/root_controller") }
        for model in app.models { check(model: model) }
        for view in app.views {
            let path = "/views/" + JSONPointer.escape(view.name)
            checkName(view, at: path)
            if case .object = view.value {
                check(view: view.value, at: path)
            } else {
                addFinding("bad-shape", path, "A view must be an object.")
            }
        }
        for controller in app.controllers { check(controller: controller) }
        checkUse()
        var tree = ViewTree(app)
        findings += tree.check()
        return findings
    }

    mutating func addFinding(_ code: String, _ path: String, _ message: String, _ severity: Finding.Severity = .error) {
        // Nobody would read a longer list. Errors have a higher limit, so that warnings do not crowd them out.
        guard findings.count < (severity == .error ? 2_000 : 1_000) else { return }
        findings.append(Finding(severity, code, at: path, message))
    }

    mutating func refer(to name: String, in parts: [JSONValue.Member], _ what: String, at path: String) {
        used.insert(what + "/" + name)
        if !parts.contains(where: { $0.name == name }) {
            addFinding("dangling-reference", path, "The app has no \(what) named \"\(name)\".")
        }
    }

    /// A model is inline data or the address of the data.
    private mutating func check(model: JSONValue.Member) {
        guard case .string(let address) = model.value, !Self.isAddress(address) else { return }
        addFinding(
            "bad-url", "/models/" + JSONPointer.escape(model.name),
            "The address of a model must be a path or an https URL.")
    }

    mutating func checkName(_ part: JSONValue.Member, at path: String) {
        guard let name = part.value["name"], name != .string(part.name) else { return }
        addFinding(
            "name-mismatch", path + "/name", "The name must be \"\(part.name)\", the name under which the app lists it."
        )
    }

    /// Checks a view's or controller's kind and returns it.
    mutating func checkKind(
        _ value: JSONValue?, default standard: String, among builtIn: Set<String>, hasFallback: Bool, at path: String
    ) -> String {
        switch value {
        case nil: return standard
        case .string(let kind)?:
            if !builtIn.contains(kind), app.requires[kind] == nil, !hasFallback {
                addFinding(
                    "unknown-kind", path + "/kind",
                    "\"\(kind)\" is not built in. Name it in requires or give a fallback.")
            }
            return kind
        default:
            addFinding("bad-shape", path + "/kind", "Expected a string.")
            return standard
        }
    }

    private mutating func checkUse() {
        for view in app.views where !used.contains("view/" + view.name) {
            addFinding("unused-view", "/views/" + JSONPointer.escape(view.name), "Nothing shows this view.", .warning)
        }
        for controller in app.controllers where !used.contains("controller/" + controller.name) {
            addFinding(
                "unused-controller", "/controllers/" + JSONPointer.escape(controller.name),
                "Nothing opens this controller.", .warning)
        }
    }

    /// Minimum versions by name; nil if the value has another shape.
    static func requirements(_ value: JSONValue) -> [String: Int]? {
        guard case .object(let members) = value, members.count <= AppDefinition.maximumRequirements else { return nil }
        var requirements: [String: Int] = [:]
        for member in members {
            guard case .number(let literal) = member.value, let version = Int(literal),
                (1...1_000_000).contains(version),
                DocumentKey.isName(member.name)
            else { return nil }
            requirements[member.name] = version
        }
        return requirements
    }
}
