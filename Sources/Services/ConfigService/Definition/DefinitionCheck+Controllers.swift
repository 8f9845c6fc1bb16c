import MartletAPI
import MartletCore

extension DefinitionCheck {
    mutating func check(controller: JSONValue.Member) {
        let path = "/controllers/" + JSONPointer.escape(controller.name)
        guard case .object(let members) = controller.value else {
            return addFinding("bad-shape", path, "A controller must be an object.")
        }
        checkName(controller, at: path)
        let kind = checkKind(
            controller.value["kind"], default: "ViewController", among: Component.controllers, hasFallback: false,
            at: path)
        if kind == "ViewController" || kind == "NavController", controller.value["render"] == nil {
            addFinding("missing-member", path, "A \(kind) needs a view to render.")
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
            case (_, nil): checkCustomValue(member.value, at: path)
            }
        }
    }

    /// In Napton's manual, controllers contain their own parts. Here the parts belong to the app; a controller only
    /// names them.
    private mutating func check(names: JSONValue, _ parts: [JSONValue.Member], _ what: String, at path: String) {
        guard case .array(let elements) = names else {
            return addFinding(
                "bad-shape", path, "Expected an array of names of the app's \(what)s, found \(names.phrase).")
        }
        for (index, element) in elements.enumerated() {
            guard case .string(let name) = element else {
                addFinding("bad-shape", "\(path)/\(index)", "Expected a name, found \(element.phrase).")
                continue
            }
            refer(to: name, in: parts, what, at: "\(path)/\(index)")
        }
    }

    mutating func check(actions: JSONValue, at path: String) {
        guard case .array(let elements) = actions else {
            return addFinding("bad-shape", path, "Expected an array of actions, found \(actions.phrase).")
        }
        for (index, action) in elements.enumerated() { check(action: action, at: "\(path)/\(index)") }
    }

    private mutating func check(action: JSONValue, at path: String) {
        guard case .object(let members) = action else {
            return addFinding("bad-shape", path, "An action must be an object.")
        }
        guard case .string(let name)? = action["action"] else {
            let isEmpty = members.isEmpty
            return addFinding(
                "missing-member", path,
                isEmpty ? "This action is empty and does nothing." : "The member `action` is missing.",
                isEmpty ? .warning : .error)
        }
        if name == "openController", action["controller"] == nil {
            addFinding("missing-member", path, "openController needs the controller to open.")
        }
        if !Component.actions.contains(name), app.requires[name] == nil {
            addFinding(
                "unknown-action", path + "/action",
                "No built-in kind handles \"\(name)\". If the host app does, name it in requires.", .warning)
        }
        if action["kind"] != nil {
            _ = checkKind(
                action["kind"], default: "", among: Component.controllers.union(Component.views), hasFallback: false,
                at: path)
        }
        for member in members {
            let path = path + "/" + JSONPointer.escape(member.name)
            switch Component.actionProperties[member.name] {
            case .structure: break
            case let property?: check(member.value, as: property, at: path)
            case nil: checkCustomValue(member.value, at: path)
            }
        }
    }
}
