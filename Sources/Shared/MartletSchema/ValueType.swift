import MartletCore

/// A name in the keyword `type`: one of JSON Schema's, or, as an extension, one of Martlet's typed values.
///
/// A typed value is a JSON object with a `__type`. It is also of the type `object`, so that JSON Schema's own words
/// keep their meaning.
enum ValueType: String, Sendable, CaseIterable {
    case null, boolean, object, array, number, string, integer
    case date = "Date"
    case pointer = "Pointer"
    case relation = "Relation"
    case geoPoint = "GeoPoint"
    case polygon = "Polygon"
    case file = "File"
    case bytes = "Bytes"

    /// Whether values of this type name a collection, so that `className` may stand beside it.
    var hasClassName: Bool { self == .pointer || self == .relation }

    func contains(_ value: JSONValue) -> Bool {
        switch self {
        case .null: value == .null
        case .boolean: value.kind == .boolean
        case .object: value.kind == .object
        case .array: value.kind == .array
        case .number: value.kind == .number
        case .string: value.kind == .string
        case .integer: if case .number(let literal) = value { ExactNumber(literal)?.isInteger ?? false } else { false }
        case .date, .pointer, .relation, .geoPoint, .polygon, .file, .bytes: Self.typeName(of: value) == rawValue
        }
    }

    /// The type as found in a value, in words: `a number`, `a Pointer`.
    static func phrase(for value: JSONValue) -> String {
        typeName(of: value).flatMap(ValueType.init).map { "a \($0.rawValue)" } ?? value.kind.phrase
    }

    private static func typeName(of value: JSONValue) -> String? {
        guard case .object = value, case .string(let name) = value["__type"] else { return nil }
        return name
    }
}
