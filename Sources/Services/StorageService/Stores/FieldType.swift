import MartletCore

/// What a field's value is, as collections remember it of every field ever written.
enum FieldType {
    static let maximumFields = 1_000
    /// Of one field; what comes later is not remembered.
    static let maximumTypes = 20

    /// Nil for null: it says nothing.
    static func name(of value: JSONValue) -> String? {
        switch value {
        case .null: nil
        case .bool: "Boolean"
        case .number: "Number"
        case .string: "String"
        case .array(let elements): array(of: elements)
        case .object: value["__op"].map { result(of: $0, value) } ?? typed(value) ?? "Object"
        }
    }

    /// What an operation leaves behind.
    private static func result(of operation: JSONValue, _ value: JSONValue) -> String? {
        switch operation {
        case .string("Increment"): "Number"
        case .string("SetOnInsert"): value["amount"].flatMap(name)
        case .string("Add"), .string("AddUnique"):
            if case .array(let elements) = value["objects"] { array(of: elements) } else { "Array" }
        case .string("Remove"): "Array"
        case .string("AddRelation"):
            if case .string(let collection) = value["className"] { "Relation<\(collection)>" } else { nil }
        default: nil
        }
    }

    /// With what its elements point to, of up to four collections: `Array<Pointer<User>>`,
    /// `Array<Pointer<Team>,Pointer<User>>`.
    private static func array(of elements: [JSONValue]) -> String {
        var pointers: Set<String> = []
        for element in elements where pointers.count < 4 {
            if element["__type"] == .string("Pointer"), let type = typed(element) { pointers.insert(type) }
        }
        return pointers.isEmpty ? "Array" : "Array<\(pointers.sorted().joined(separator: ","))>"
    }

    private static func typed(_ value: JSONValue) -> String? {
        guard case .string(let type) = value["__type"] else { return nil }
        guard type == "Pointer" || type == "Relation" else { return type }
        guard case .string(let collection) = value["className"] else { return nil }
        return "\(type)<\(collection)>"
    }
}
