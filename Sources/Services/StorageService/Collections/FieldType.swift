import MartletCore

/// The type of a field's value. Collections record the types of every field ever written.
enum FieldType {
    static let maximumFields = 1_000
    /// The limit per field; further types are not recorded.
    static let maximumTypes = 20

    /// Nil for null, which has no type.
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

    /// The type that results from an operation.
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

    /// An array's type, including up to four collections to which its elements point: `Array<Pointer<User>>`,
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
