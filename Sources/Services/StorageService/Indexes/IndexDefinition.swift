import MartletAPI
import MartletCore
import MartletPostgres

/// An index requested by an app.
struct IndexDefinition: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        /// For comparisons and orders on one to four fields, with `-` in front for descending order; may be unique.
        case ordered
        /// For `$regex` that begins with `^` and plain text; one field.
        case prefix
        /// For `$text` on one field, or on whole objects with the field `*`.
        case text
        /// For `$nearSphere`, `$geoWithin` and `$within` on a field of GeoPoints.
        case geo
    }

    /// Given by the client; by default the fields joined by `_`.
    var name: String
    var kind: Kind
    /// Dotted paths or system fields.
    var fields: [String]
    /// Unique among objects that are not removed.
    var unique: Bool
    /// The language of a `text` index.
    var language: String?

    init(name: String, kind: Kind, fields: [String], unique: Bool, language: String?) {
        self.name = name
        self.kind = kind
        self.fields = fields
        self.unique = unique
        self.language = language
    }

    /// Definitions without a kind, which older versions stored, are `ordered`.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        kind = try values.decodeIfPresent(Kind.self, forKey: .kind) ?? .ordered
        fields = try values.decode([String].self, forKey: .fields)
        unique = try values.decode(Bool.self, forKey: .unique)
        language = try values.decodeIfPresent(String.self, forKey: .language)
    }

    /// The part of the statement after `ON table`: access method and keys.
    ///
    /// - Throws: `invalid-filter` for an invalid field, `invalid-body`.
    func keys() throws -> PostgresQuery {
        guard kind != .ordered else {
            // Every order ends with the id (`ListOrder`).
            let end: PostgresQuery = unique || fields.contains("_id") || fields.contains("-_id") ? "" : ", id"
            return "(\(try fields.map(Self.orderedKey).joined(separator: ", "))\(end))"
        }
        guard fields.count == 1, !unique else {
            throw ServiceError(
                .invalidBody, "An index of this kind must have one field and cannot be unique.", field: "fields")
        }
        if kind == .text {
            let language = try TextSearch.literal(language ?? TextSearch.defaultLanguage, field: "language")
            let value = fields == ["*"] ? "doc" : try documentPath().expression
            return "USING gin (\(TextSearch.words(value, language))) WITH (fastupdate = off)"
        }
        let path = try documentPath()
        return kind == .geo
            ? "USING gist (storage.sphere(\(path.expression)))" : "(\(path.textExpression) text_pattern_ops)"
    }

    var condition: PostgresQuery { unique ? " WHERE deleted IS NULL" : "" }

    private func documentPath() throws -> FieldPath {
        guard case .document(let path) = try Target(fields[0]) else {
            throw ServiceError(
                .invalidBody, "An index of this kind must be on a field of the document.", field: "fields")
        }
        return path
    }

    private static func orderedKey(_ field: String) throws -> PostgresQuery {
        let isDescending = field.hasPrefix("-")
        let target = try Target(isDescending ? String(field.dropFirst()) : field)
        return isDescending ? "(\(target.expression)) DESC" : "(\(target.expression))"
    }
}
