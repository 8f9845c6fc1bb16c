import MartletCore

extension ConfigurationCheck {
    /// The kind of a controller that does not name one.
    private static let defaultController = "UIViewController"

    mutating func checkControllers(_ value: JSONValue, at place: DocumentPlace) {
        let list = findings.elements(value, at: place, upTo: Limits.controllers)
        var parents: [(name: String, parent: String, place: DocumentPlace)] = []
        for (index, controller) in list.enumerated() {
            let place = place / index
            _ = findings.members(
                controller, at: place, known: ["name", "parent", "classType", "classProperties", "objectsList"])
            guard controller.members != nil, let name = findings.text(controller["name"], at: place / "name") else {
                continue
            }
            var checked = CheckedController(
                kind: kind(controller["classType"] ?? .string(Self.defaultController), at: place / "classType"))
            if let properties = controller["classProperties"] {
                checkProperties(properties, of: checked.kind, at: place / "classProperties")
            }
            if let objects = controller["objectsList"] {
                checkObjects(objects, of: &checked, at: place / "objectsList")
            }
            if controllers.updateValue(checked, forKey: name) != nil {
                findings.error("duplicate-name", at: place / "name", "There are two controllers named \(name).")
            }
            if let parent = parent(controller["parent"], at: place / "parent") {
                parents.append((name, parent, place / "parent"))
            }
        }
        checkParents(parents)
        if objectCount > Limits.objects {
            findings.error("too-many", at: place, "A configuration may have at most \(Limits.objects) objects.")
        }
    }

    /// Nil if there is no parent, which the original TBAnalytics dashboard writes as 0.
    private mutating func parent(_ value: JSONValue?, at place: DocumentPlace) -> String? {
        switch value {
        case nil, .null, .number("0"), .string("0"), .string(""): nil
        default: findings.text(value, at: place)
        }
    }

    private mutating func checkParents(_ list: [(name: String, parent: String, place: DocumentPlace)]) {
        let parents = Dictionary(list.map { ($0.name, $0.parent) }) { $1 }
        for (name, parent, place) in list {
            guard controllers[parent] != nil else {
                let question = NearMiss.question(for: parent, among: controllers.keys)
                findings.error("unknown-parent", at: place, "There is no controller named \(parent)." + question)
                continue
            }
            var seen: Set<String> = [name]
            var next: String? = parent
            while let above = next, seen.insert(above).inserted { next = parents[above] }
            if next == name { findings.error("cycle", at: place, "The controller \(name) is its own ancestor.") }
        }
    }

    private mutating func checkObjects(
        _ value: JSONValue, of controller: inout CheckedController, at place: DocumentPlace
    ) {
        let objects = findings.elements(value, at: place, upTo: Limits.objectsOfController)
        objectCount += objects.count
        for (index, object) in objects.enumerated() {
            let place = place / index
            _ = findings.members(
                object, at: place, known: ["objectName", "objectDesc", "objectType", "objectProperties"])
            guard object.members != nil, let name = findings.text(object["objectName"], at: place / "objectName") else {
                continue
            }
            if let description = object["objectDesc"] {
                _ = findings.text(description, at: place / "objectDesc", from: 0, upTo: 2_000)
            }
            let properties = object["objectProperties"] ?? .object([])
            let kind = kind(object["objectType"] ?? properties["type"], at: place / "objectType")
            checkProperties(properties, of: kind, at: place / "objectProperties")
            if controller.objects.updateValue(kind, forKey: name) != nil {
                findings.error(
                    "duplicate-name", at: place / "objectName",
                    "There are two objects named \(name) in this controller.")
            }
        }
    }

    /// The name of a kind in the catalogue; empty if there is none, and then its properties are not checked.
    private mutating func kind(_ value: JSONValue?, at place: DocumentPlace) -> String {
        guard let name = findings.text(value, at: place) else { return "" }
        guard catalogue.kinds[name] == nil else { return name }
        findings.error(
            "unknown-kind", at: place,
            "The catalogue has no kind \(name)." + NearMiss.question(for: name, among: catalogue.kinds.keys))
        return ""
    }

    private mutating func checkProperties(_ value: JSONValue, of kind: String, at place: DocumentPlace) {
        for member in findings.members(value, at: place, upTo: Limits.properties) {
            checkProperty(member, of: kind, at: place / member.name)
        }
    }

    mutating func checkProperty(_ member: JSONValue.Member, of kind: String, at place: DocumentPlace) {
        guard !kind.isEmpty else { return }
        // The original TBAnalytics dashboard also writes the object's kind as a property.
        if member.name == "type" {
            if member.value.string != kind {
                findings.error("wrong-type", at: place, "Expected the object's type, \(kind).")
            }
            return
        }
        guard let type = catalogue.type(of: member.name, in: kind) else {
            let question = NearMiss.question(for: member.name, among: catalogue.properties(of: kind))
            return findings.error("unknown-property", at: place, "\(kind) has no property \(member.name)." + question)
        }
        switch type.verdict(on: member.value) {
        case .good: break
        case .discouraged(let hint): findings.warning("odd-spelling", at: place, "This should be written as \(hint).")
        case .wrongType(let hint):
            findings.error("wrong-type", at: place, "Expected \(hint), found \(member.value.phrase).")
        case .outOfRange(let hint): findings.error("out-of-range", at: place, "Expected \(hint).")
        case .unknownChoice(let text, let choices):
            let question = NearMiss.question(for: text, among: choices)
            findings.error(
                "unknown-choice", at: place, "Expected one of: \(choices.joined(separator: ", "))." + question)
        }
        if type == .color, let name = member.value.string { use(color: name, at: place) }
    }
}
