public import MartletCore

/// The `default`s of a schema's properties, at every level.
struct DefaultTree: Sendable {
    private var members: [(name: String, value: JSONValue?, inner: DefaultTree)] = []

    /// - Parameters:
    ///   - definitions: The schema's `$defs`, which must not refer to themselves.
    ///   - bytesLeft: The size that defaults and their names may still have.
    init(_ schema: JSONValue, definitions: [ExactText: JSONValue], bytesLeft: inout Int) throws(SchemaError) {
        if let name = SchemaCompiler.definitionName(in: schema), let definition = definitions[ExactText(name)] {
            members = try DefaultTree(definition, definitions: definitions, bytesLeft: &bytesLeft).members
        }
        guard case .object(let properties) = schema["properties"] else { return }
        for property in properties {
            let inner = try DefaultTree(property.value, definitions: definitions, bytesLeft: &bytesLeft)
            let value = Self.value(of: property.value, definitions)
            guard value != nil || !inner.members.isEmpty else { continue }
            bytesLeft -= property.name.utf8.count + (value?.text.utf8.count ?? 0)
            guard bytesLeft >= 0 else {
                throw SchemaError(
                    at: "",
                    "The defaults of a schema may have at most \(JSONSchema.maximumDefaultsSizeInBytes) bytes in all, "
                        + "with each $ref counted in full.")
            }
            members.append((property.name, value, inner))
        }
    }

    private static func value(of schema: JSONValue, _ definitions: [ExactText: JSONValue]) -> JSONValue? {
        if let value = schema["default"] { return value }
        guard let name = SchemaCompiler.definitionName(in: schema) else { return nil }
        return definitions[ExactText(name)].flatMap { value(of: $0, definitions) }
    }

    /// The defaults for members that the object lacks.
    func absent(from object: [JSONValue.Member]) -> [JSONValue.Member] {
        let known = Set(object.map { ExactText($0.name) })
        return members.compactMap { member in
            known.contains(ExactText(member.name)) ? nil : member.value.map { JSONValue.Member(member.name, $0) }
        }
    }

    /// The object with the defaults of objects inside it, but not its own.
    func filledInside(_ object: [JSONValue.Member]) -> [JSONValue.Member] {
        let inner = Dictionary(members.map { (ExactText($0.name), $0.inner) }, uniquingKeysWith: { $1 })
        return object.map { member in
            guard case .object(let members) = member.value, member.value["__type"] == nil,
                let tree = inner[ExactText(member.name)]
            else { return member }
            return .init(member.name, .object(tree.filledInside(members) + tree.absent(from: members)))
        }
    }
}

extension JSONSchema {
    /// The `default`s of top-level members that the document lacks.
    public func defaults(for document: JSONValue) -> [JSONValue.Member] {
        guard case .object(let members) = document else { return [] }
        return defaults.absent(from: members)
    }

    /// The document with the `default`s of members that objects inside it lack. Elements of arrays are left alone.
    public func filledInside(_ document: JSONValue) -> JSONValue {
        guard case .object(let members) = document else { return document }
        return .object(defaults.filledInside(members))
    }
}
