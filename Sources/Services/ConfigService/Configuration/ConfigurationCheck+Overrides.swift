import MartletAPI
import MartletCore
import MartletFlags

extension ConfigurationCheck {
    /// The members that a patch may change; see `ConfigurationPatch`.
    static let patchMembers: Set<String> = ["languagesList", "mainSettings", "colors", "controllers"]

    mutating func checkOverrides(_ value: JSONValue, at place: DocumentPlace) {
        var names: Set<String> = []
        for (index, override) in findings.elements(value, at: place, upTo: Limits.overrides).enumerated() {
            let place = place / index
            _ = findings.members(override, at: place, known: ["name", "when", "patch"])
            guard override.members != nil else { continue }
            if let given = override["name"], let name = findings.text(given, at: place / "name"),
                !names.insert(name).inserted
            {
                findings.error("duplicate-name", at: place / "name", "There are two overrides named \(name).")
            }
            checkCondition(override["when"], at: place / "when")
            if let patch = override["patch"] {
                checkPatch(patch, at: place / "patch")
            } else {
                findings.error("required", at: place / "patch", "This is required.")
            }
        }
    }

    private mutating func checkCondition(_ value: JSONValue?, at place: DocumentPlace) {
        guard let value else { return findings.error("required", at: place, "This is required.") }
        var compiler = ConditionCompiler()
        _ = compiler.compile(value, at: place.text)
        for issue in compiler.issues {
            findings.add(Finding(issue.isError ? .error : .warning, issue.code, at: issue.path, issue.message))
        }
    }

    private mutating func checkPatch(_ patch: JSONValue, at place: DocumentPlace) {
        _ = findings.members(patch, at: place, known: Self.patchMembers)
        if let languages = patch["languagesList"] { checkLanguages(languages, at: place / "languagesList") }
        if let settings = patch["mainSettings"] { checkSettings(settings, at: place / "mainSettings") }
        if let colors = patch["colors"] { checkPatch(ofColors: colors, at: place / "colors") }
        if let controllers = patch["controllers"] { checkPatch(ofControllers: controllers, at: place / "controllers") }
    }

    private mutating func checkPatch(ofColors value: JSONValue, at place: DocumentPlace) {
        for member in findings.members(value, at: place, upTo: Limits.colors) {
            let place = place / member.name
            if !colors.contains(member.name) {
                findings.error(
                    "unknown-color", at: place,
                    "There is no colour named \(member.name)." + NearMiss.question(for: member.name, among: colors))
            }
            _ = findings.members(member.value, at: place, known: ["red", "green", "blue", "alpha"])
            checkColorParts(member.value, at: place)
        }
    }

    private mutating func checkPatch(ofControllers value: JSONValue, at place: DocumentPlace) {
        for member in findings.members(value, at: place, upTo: Limits.controllers) {
            let place = place / member.name
            _ = findings.members(member.value, at: place, known: ["classProperties", "objects"])
            guard let controller = controllers[member.name] else {
                let question = NearMiss.question(for: member.name, among: controllers.keys)
                findings.error(
                    "unknown-controller", at: place, "There is no controller named \(member.name)." + question)
                continue
            }
            if let properties = member.value["classProperties"] {
                checkPatch(ofProperties: properties, of: controller.kind, at: place / "classProperties")
            }
            if let objects = member.value["objects"] {
                checkPatch(ofObjects: objects, of: controller, at: place / "objects")
            }
        }
    }

    private mutating func checkPatch(
        ofObjects value: JSONValue, of controller: CheckedController, at place: DocumentPlace
    ) {
        for member in findings.members(value, at: place, upTo: Limits.objectsOfController) {
            guard let kind = controller.objects[member.name] else {
                let question = NearMiss.question(for: member.name, among: controller.objects.keys)
                findings.error(
                    "unknown-object", at: place / member.name,
                    "The controller has no object named \(member.name)." + question
                )
                continue
            }
            checkPatch(ofProperties: member.value, of: kind, at: place / member.name)
        }
    }

    /// Null removes a property.
    private mutating func checkPatch(ofProperties value: JSONValue, of kind: String, at place: DocumentPlace) {
        for member in findings.members(value, at: place, upTo: Limits.properties) {
            if member.name == "type" {
                findings.error("unknown-member", at: place / member.name, "An object's kind cannot be overridden.")
            } else if member.value != .null {
                checkProperty(member, of: kind, at: place / member.name)
            }
        }
    }
}
