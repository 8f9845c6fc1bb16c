import Foundation
import MartletCore

/// A name in the keyword `type`: one of JSON Schema's, or, as an extension, one of Martlet's typed values.
///
/// A typed value is a JSON object with a `__type`. It is also of the type `object`, so that JSON Schema's own
/// keywords keep their meaning.
enum ValueType: String, Sendable, CaseIterable {
    case null, boolean, object, array, number, string, integer
    case date = "Date"
    case pointer = "Pointer"
    case relation = "Relation"
    case geoPoint = "GeoPoint"
    case polygon = "Polygon"
    case file = "File"
    case bytes = "Bytes"

    /// Whether values of this type name a collection. A schema may then restrict it by `className`.
    var hasClassName: Bool { self == .pointer || self == .relation }

    /// Whether this is one of Martlet's typed values.
    var isTyped: Bool {
        switch self {
        case .null, .boolean, .object, .array, .number, .string, .integer: false
        case .date, .pointer, .relation, .geoPoint, .polygon, .file, .bytes: true
        }
    }

    func contains(_ value: JSONValue) -> Bool {
        switch self {
        case .null: value == .null
        case .boolean: value.kind == .boolean
        case .object: value.kind == .object
        case .array: value.kind == .array
        case .number: value.kind == .number
        case .string: value.kind == .string
        case .integer: if case .number(let literal) = value { ExactNumber(literal)?.isInteger ?? false } else { false }
        case .date, .pointer, .relation, .geoPoint, .polygon, .file, .bytes: isNamed(by: value) && hasMembers(value)
        }
    }

    /// Whether the value's `__type` is this type.
    func isNamed(by value: JSONValue) -> Bool { Self.typeName(of: value) == rawValue }

    /// Whether a typed value has the members of its type, in the form in which the storage service stores them
    /// (`TypedValue` there). The form is not guaranteed, because clients can write to a single member.
    private func hasMembers(_ value: JSONValue) -> Bool {
        switch self {
        case .date: Self.text(value["iso"]).map { Date(rfc3339: $0)?.rfc3339 == $0 } ?? false
        case .pointer: Self.hasText(value["className"]) && Self.hasText(value["objectId"])
        case .relation: Self.hasText(value["className"])
        case .geoPoint: Self.isPoint(value["latitude"], value["longitude"])
        case .polygon: Self.isPolygon(value["coordinates"])
        case .file: Self.hasText(value["name"]) && (value["url"].map { $0.kind == .string } ?? true)
        case .bytes: Self.text(value["base64"]).map { Data(base64Encoded: $0) != nil } ?? false
        case .null, .boolean, .object, .array, .number, .string, .integer: true
        }
    }

    /// The type as found in a value, in words: `a number`, `a Pointer`.
    static func phrase(for value: JSONValue) -> String {
        guard let type = typeName(of: value).flatMap(ValueType.init), type.isTyped else { return value.kind.phrase }
        return type.hasMembers(value) ? "a \(type.rawValue)" : "a malformed \(type.rawValue)"
    }

    private static func typeName(of value: JSONValue) -> String? {
        guard case .object = value else { return nil }
        return text(value["__type"])
    }

    private static func text(_ value: JSONValue?) -> String? { if case .string(let text) = value { text } else { nil } }

    private static func hasText(_ value: JSONValue?) -> Bool {
        text(value).map { (1...1_024).contains($0.utf8.count) } ?? false
    }

    private static func isPolygon(_ value: JSONValue?) -> Bool {
        guard case .array(let points) = value, (3...1_000).contains(points.count) else { return false }
        return points.allSatisfy { point in
            if case .array(let pair) = point, pair.count == 2 { isPoint(pair[0], pair[1]) } else { false }
        }
    }

    private static func isPoint(_ latitude: JSONValue?, _ longitude: JSONValue?) -> Bool {
        guard case .number(let latitude) = latitude, case .number(let longitude) = longitude,
            let degrees = Double(latitude), let otherDegrees = Double(longitude)
        else { return false }
        return (-90.0...90).contains(degrees) && (-180.0...180).contains(otherDegrees)
    }
}
