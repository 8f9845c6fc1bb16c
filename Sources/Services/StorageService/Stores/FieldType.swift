import MartletCore

/// What a field's value is, as collections remember it of every field ever written.
enum FieldType {
    static let maximumFields = 1_000

    /// Nil for null: it says nothing.
    static func name(of value: JSONValue) -> String? {
        switch value {
        case .null: nil
        case .bool: "Boolean"
        case .number: "Number"
        case .string: "String"
        case .array: "Array"
        case .object: value["__op"].map { result(of: $0, value) } ?? typed(value) ?? "Object"
        }
    }

    /// What an operation leaves behind.
    private static func result(of operation: JSONValue, _ value: JSONValue) -> String? {
        switch operation {
        case .string("Increment"): "Number"
        case .string("SetOnInsert"): value["amount"].flatMap(name)
        case .string("Add"), .string("AddUnique"), .string("Remove"): "Array"
        case .string("AddRelation"):
            if case .string(let collection) = value["className"] { "Relation<\(collection)>" } else { nil }
        default: nil
        }
    }

    private static func typed(_ value: JSONValue) -> String? {
        guard case .string(let type) = value["__type"] else { return nil }
        guard type == "Pointer" || type == "Relation" else { return type }
        guard case .string(let collection) = value["className"] else { return nil }
        return "\(type)<\(collection)>"
    }
}
