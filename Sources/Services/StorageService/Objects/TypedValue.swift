import Foundation
import MartletAPI
import MartletCore

/// Values with a `__type`, in the forms of the Parse protocol: Date, Pointer, Relation, GeoPoint, Polygon, File, Bytes.
///
/// Validated when written, anywhere in a document, and normalized so that the database can compare them: a Date's `iso`
/// becomes UTC with milliseconds.
enum TypedValue {
    static let maximumPolygonPoints = 1_000

    /// The document with every typed value normalized.
    ///
    /// - Throws: `invalid-body` naming the top-level field.
    static func normalized(document value: JSONValue) throws -> JSONValue {
        guard case .object(let members) = value else { return value }
        return .object(try members.map { .init($0.name, try normalized($0.value, field: $0.name)) })
    }

    static func normalized(_ value: JSONValue, field: String) throws -> JSONValue {
        switch value {
        case .array(let elements): return .array(try elements.map { try normalized($0, field: field) })
        case .object(let members):
            guard members.contains(where: { $0.name == "__type" }) else {
                return .object(try members.map { .init($0.name, try normalized($0.value, field: field)) })
            }
            guard case .string(let type) = value["__type"] else { throw refusal("__type must be a string.", field) }
            return try normalized(value, type: type, field: field)
        default: return value
        }
    }

    private static func normalized(_ value: JSONValue, type: String, field: String) throws -> JSONValue {
        switch type {
        case "Date":
            guard case .string(let text) = value["iso"], let date = Timestamps.date(text) else {
                throw refusal("A Date requires an \"iso\" as in RFC 3339.", field)
            }
            return object(type, [.init("iso", .string(Timestamps.text(date)))])
        case "Pointer", "Relation":
            guard case .string(let name) = value["className"], (try? CollectionName(name, isReference: true)) != nil
            else {
                throw refusal("A \(type) requires a \"className\".", field)
            }
            guard type == "Pointer" else { return object(type, [.init("className", .string(name))]) }
            guard case .string(let id) = value["objectId"], (try? ObjectID(id)) != nil else {
                throw refusal("A Pointer requires an \"objectId\".", field)
            }
            return object(type, [.init("className", .string(name)), .init("objectId", .string(id))])
        case "GeoPoint":
            guard let latitude = number(value["latitude"]), let longitude = number(value["longitude"]),
                (-90.0...90).contains(latitude), (-180.0...180).contains(longitude),
                let latitudeText = value["latitude"], let longitudeText = value["longitude"]
            else {
                throw refusal(
                    "A GeoPoint requires a \"latitude\" from -90 to 90 and a \"longitude\" from -180 to 180.", field)
            }
            return object(type, [.init("latitude", latitudeText), .init("longitude", longitudeText)])
        case "Polygon":
            guard case .array(let points) = value["coordinates"], (3...maximumPolygonPoints).contains(points.count),
                points.allSatisfy({ isPoint($0) })
            else {
                throw refusal(
                    "A Polygon requires \"coordinates\": 3 to \(maximumPolygonPoints) of [latitude, longitude].", field)
            }
            return object(type, [.init("coordinates", .array(points))])
        case "Bytes":
            guard case .string(let text) = value["base64"], Data(base64Encoded: text) != nil else {
                throw refusal("Bytes require a \"base64\".", field)
            }
            return object(type, [.init("base64", .string(text))])
        case "File":
            guard case .string(let name) = value["name"], !name.isEmpty, name.utf8.count <= 1_024 else {
                throw refusal("A File requires a \"name\".", field)
            }
            guard let url = value["url"] else { return object(type, [.init("name", .string(name))]) }
            guard case .string = url else { throw refusal("A File's \"url\" must be a string.", field) }
            return object(type, [.init("name", .string(name)), .init("url", url)])
        default:
            throw refusal(
                "\"\(type.prefix(40))\" is not a type. Expected Date, Pointer, Relation, GeoPoint, Polygon, File or Bytes.",
                field)
        }
    }

    static func number(_ value: JSONValue?) -> Double? {
        guard case .number(let literal) = value, let number = Double(literal), number.isFinite else { return nil }
        return number
    }

    private static func isPoint(_ value: JSONValue) -> Bool {
        guard case .array(let pair) = value, pair.count == 2, let latitude = number(pair[0]),
            let longitude = number(pair[1])
        else { return false }
        return (-90.0...90).contains(latitude) && (-180.0...180).contains(longitude)
    }

    private static func object(_ type: String, _ members: [JSONValue.Member]) -> JSONValue {
        .object([.init("__type", .string(type))] + members)
    }

    private static func refusal(_ detail: String, _ field: String) -> ServiceError {
        ServiceError(.invalidBody, detail, field: field)
    }
}

/// Conversion of times in documents and filters.
enum Timestamps {
    /// RFC 3339, with or without fractions of a second.
    static func date(_ text: String) -> Date? {
        Date(rfc3339: text)
    }

    /// `2026-11-21T12:00:00.000Z`: 24 characters whose order is chronological.
    static func text(_ date: Date) -> String {
        date.rfc3339
    }
}
