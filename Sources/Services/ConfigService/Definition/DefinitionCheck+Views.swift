import MartletAPI
import MartletCore

extension DefinitionCheck {
    /// Checks a view inside another one: an inline view or the name of one.
    private mutating func check(content: JSONValue, at path: String) {
        switch content {
        case .string(let name): refer(to: name, in: app.views, "view", at: path)
        case .object: check(view: content, at: path)
        default: addFinding("bad-shape", path, "A view must be an object or the name of one.")
        }
    }

    mutating func check(view: JSONValue, at path: String) {
        guard case .object(let members) = view else { return }
        let kind = checkKind(
            view["kind"], default: "View", among: Component.views, hasFallback: view["fallback"] != nil, at: path)
        checkRequiredProperties(of: view, kind, at: path)
        for member in members {
            let path = path + "/" + JSONPointer.escape(member.name)
            switch (member.name, Component.viewProperties[member.name]) {
            case ("contents", _): check(contents: member.value, at: path)
            case ("actions", _): check(actions: member.value, at: path)
            case ("fallback", _): if member.value != .string("drop") { check(content: member.value, at: path) }
            case ("requires", _): check(requires: member.value, hasFallback: view["fallback"] != nil, at: path)
            case (_, .structure): break
            case (_, let property?): check(member.value, as: property, at: path)
            case (let name, nil):
                // The app may have a newer version of a built-in kind.
                if Component.views.contains(kind), app.requires[kind] == nil {
                    addFinding("unknown-property", path, "No built-in kind has a property \"\(name)\".", .warning)
                }
                checkCustomValue(member.value, at: path)
            }
        }
    }

    private mutating func checkRequiredProperties(of view: JSONValue, _ kind: String, at path: String) {
        for name in Component.requiredProperties[kind] ?? [] where view[name] == nil {
            addFinding("missing-member", path, "A \(kind) requires \(name).")
        }
    }

    private mutating func check(requires: JSONValue, hasFallback: Bool, at path: String) {
        if Self.requirements(requires) == nil {
            addFinding("bad-shape", path, "Expected an object of whole numbers.")
        }
        if !hasFallback {
            addFinding(
                "missing-member", path,
                "A view that only some clients support needs a fallback: another view or \"drop\".")
        }
    }

    /// Checks the contents of a view: a list of views, or an object of views by name in document order, each of which
    /// may name another with `before`.
    private mutating func check(contents: JSONValue, at path: String) {
        switch contents {
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                check(content: element, at: "\(path)/\(index)")
                guard case .object = element, element["before"] != nil else { continue }
                addFinding(
                    "bad-shape", "\(path)/\(index)/before",
                    "before only applies to contents given as an object of named views.")
            }
        case .object(let members):
            for member in members {
                let place = path + "/" + JSONPointer.escape(member.name)
                check(content: member.value, at: place)
                guard case .object = member.value, let before = member.value["before"] else { continue }
                guard case .string(let other) = before, other != member.name,
                    members.contains(where: { $0.name == other })
                else {
                    addFinding("dangling-reference", place + "/before", "There is no such view next to this one.")
                    continue
                }
            }
        default:
            addFinding(
                "bad-shape", path,
                "Expected an array of views or an object of views by name, found \(contents.phrase).")
        }
    }
}
