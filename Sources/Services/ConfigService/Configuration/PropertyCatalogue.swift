import MartletCore

/// The kinds of objects on screens and the properties of each.
///
/// `{"version":n,"kinds":{"UILabel":{"framework":"UIKit","parent":"UIView","properties":{"text":"text",…}}}}`. A kind
/// inherits its parent's properties. The built-in catalogue is `Catalogue/catalogue.json`; a document may add kinds and
/// properties.
struct PropertyCatalogue: Sendable {
    static let maximumOwnKinds = 100
    static let maximumProperties = 200
    /// The maximum number of ancestors.
    private static let maximumDepth = 16

    struct Kind: Sendable {
        var framework: String
        var parent: String?
        var properties: [String: PropertyType]
        /// Whether the kind accepts any other property, of any type.
        var isOpen: Bool
    }

    private(set) var kinds: [String: Kind] = [:]

    struct Malformed: Error, Equatable {
        /// Member names from the outermost object inwards.
        let path: [String]
        let message: String
    }

    /// Adds new kinds, and properties of existing kinds.
    mutating func add(_ value: JSONValue) throws(Malformed) {
        guard let members = value.members else {
            throw Malformed(path: [], message: "Expected an object, found \(value.phrase).")
        }
        for member in members {
            let kind = try Self.kind(member.value, named: member.name)
            if let known = kinds[member.name] {
                try extend(known, with: kind, named: member.name)
            } else {
                kinds[member.name] = kind
            }
        }
        for member in members { try checkParents(of: member.name) }
    }

    private mutating func extend(_ known: Kind, with kind: Kind, named name: String) throws(Malformed) {
        guard kind.parent == nil || kind.parent == known.parent else {
            throw Malformed(path: [name, "parent"], message: "\(name) already has another parent.")
        }
        if let property = kind.properties.keys.sorted().first(where: { self.type(of: $0, in: name) != nil }) {
            throw Malformed(path: [name, "properties", property], message: "\(name) already has this property.")
        }
        kinds[name]?.properties.merge(kind.properties) { $1 }
        if kind.isOpen { kinds[name]?.isOpen = true }
    }

    /// The type of a kind's property; nil if the kind has no such property or does not exist.
    func type(of property: String, in kind: String) -> PropertyType? {
        var next = kinds[kind]
        var isOpen = false
        for _ in 0..<Self.maximumDepth {
            guard let kind = next else { break }
            if let type = kind.properties[property] { return type }
            isOpen = isOpen || kind.isOpen
            next = kind.parent.flatMap { kinds[$0] }
        }
        return isOpen ? .any : nil
    }

    /// The names of a kind's properties, including inherited ones.
    func properties(of kind: String) -> Set<String> {
        var names: Set<String> = []
        var next = kinds[kind]
        for _ in 0..<Self.maximumDepth {
            guard let kind = next else { break }
            names.formUnion(kind.properties.keys)
            next = kind.parent.flatMap { kinds[$0] }
        }
        return names
    }

    private static func kind(_ value: JSONValue, named name: String) throws(Malformed) -> Kind {
        guard name.wholeMatch(of: /[A-Za-z][A-Za-z0-9_]{0,63}/) != nil else {
            throw Malformed(
                path: [name], message: "A kind's name must be 1 to 64 letters, digits and _, starting with a letter.")
        }
        guard let members = value.members else {
            throw Malformed(path: [name], message: "Expected an object, found \(value.phrase).")
        }
        let known: Set<String> = ["framework", "parent", "properties", "isOpen"]
        if let stray = members.first(where: { !known.contains($0.name) }) {
            throw Malformed(path: [name, stray.name], message: "This member is unknown.")
        }
        var kind = Kind(framework: "custom", parent: nil, properties: [:], isOpen: false)
        if let framework = value["framework"] {
            guard let text = framework.string, (1...64).contains(text.utf8.count) else {
                throw Malformed(path: [name, "framework"], message: "Expected a string of 1 to 64 bytes.")
            }
            kind.framework = text
        }
        if let parent = value["parent"] {
            guard let text = parent.string else {
                throw Malformed(
                    path: [name, "parent"], message: "Expected the name of a kind, found \(parent.phrase).")
            }
            kind.parent = text
        }
        if let isOpen = value["isOpen"] {
            guard case .bool(let flag) = isOpen else {
                throw Malformed(path: [name, "isOpen"], message: "Expected true or false, found \(isOpen.phrase).")
            }
            kind.isOpen = flag
        }
        if let properties = value["properties"] { kind.properties = try Self.properties(properties, of: name) }
        return kind
    }

    private static func properties(_ value: JSONValue, of kind: String) throws(Malformed) -> [String: PropertyType] {
        let path = [kind, "properties"]
        guard let members = value.members, members.count <= maximumProperties else {
            throw Malformed(path: path, message: "Expected an object with at most \(maximumProperties) members.")
        }
        var properties: [String: PropertyType] = [:]
        for member in members {
            guard (1...64).contains(member.name.utf8.count) else {
                throw Malformed(path: path + [member.name], message: "A property's name must have 1 to 64 bytes.")
            }
            do throws(PropertyType.Malformed) {
                properties[member.name] = try PropertyType(member.value)
            } catch {
                throw Malformed(path: path + [member.name], message: error.message)
            }
        }
        return properties
    }

    private func checkParents(of name: String) throws(Malformed) {
        var seen: Set<String> = [name]
        var next = kinds[name]?.parent
        while let parent = next {
            guard let kind = kinds[parent] else {
                throw Malformed(path: [name, "parent"], message: "There is no kind named \(parent).")
            }
            guard seen.insert(parent).inserted, seen.count <= Self.maximumDepth else {
                throw Malformed(
                    path: [name, "parent"],
                    message:
                        "A kind must not be its own ancestor or be nested more than \(Self.maximumDepth) levels deep.")
            }
            next = kind.parent
        }
    }
}
