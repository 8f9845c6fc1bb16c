import MartletCore

/// The changes that an override makes to a configuration.
///
/// `{"languagesList":[…],"mainSettings":{…},"colors":{"<name>":{"red":…}},"controllers":{"<name>":{"classProperties":{…},"objects":{"<name>":{…}}}}}`.
/// Settings, colours and properties are merged by RFC 7396, so null removes a member. The list of languages is replaced
/// as a whole.
enum ConfigurationPatch {
    static func apply(_ patch: JSONValue, to document: JSONValue) -> JSONValue {
        var document = document
        if let languages = patch["languagesList"] { document.set("languagesList", languages) }
        if let settings = patch["mainSettings"] {
            document.set("mainSettings", (document["mainSettings"] ?? .object([])).merging(settings))
        }
        if let colors = patch["colors"] {
            document.set("colors", merged(document["colors"], with: colors, named: "name") { $0.merging($1) })
        }
        if let controllers = patch["controllers"] {
            document.set("controllers", merged(document["controllers"], with: controllers, named: "name", controller))
        }
        return document
    }

    private static func controller(_ controller: JSONValue, _ patch: JSONValue) -> JSONValue {
        var controller = controller
        if let properties = patch["classProperties"] {
            controller.set("classProperties", (controller["classProperties"] ?? .object([])).merging(properties))
        }
        if let objects = patch["objects"] {
            let list = merged(controller["objectsList"], with: objects, named: "objectName") { object, patch in
                var object = object
                object.set("objectProperties", (object["objectProperties"] ?? .object([])).merging(patch))
                return object
            }
            controller.set("objectsList", list)
        }
        return controller
    }

    /// The list with the elements named in `patches` changed.
    private static func merged(
        _ list: JSONValue?, with patches: JSONValue, named member: String, _ change: (JSONValue, JSONValue) -> JSONValue
    ) -> JSONValue {
        .array(
            (list?.elements ?? []).map { element in
                guard let name = element[member]?.string, let patch = patches[name] else { return element }
                return change(element, patch)
            })
    }
}

extension JSONValue {
    /// Sets a member of an object: replaces its value, or appends it.
    mutating func set(_ name: String, _ value: JSONValue) {
        guard case .object(var members) = self else { return }
        if let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
            members[index] = Member(name, value)
        } else {
            members.append(Member(name, value))
        }
        self = .object(members)
    }
}
