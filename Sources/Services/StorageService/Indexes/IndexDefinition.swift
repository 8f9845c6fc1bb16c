import MartletAPI
import MartletHTTP
import MartletPostgres

/// An index that an app asks for.
struct IndexDefinition: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        /// Comparisons and orders on one to four fields, `-` in front for descending order; may be unique.
        case ordered
        /// `$regex` that begins with `^` and plain text; one field.
        case prefix
        /// `$text` on one field, or on whole objects with the field `*`.
        case text
        /// `$nearSphere`, `$geoWithin` and `$within` on a field of GeoPoints.
        case geo
    }

    /// Given by the client, or the fields joined by `_`.
    var name: String
    var kind: Kind
    /// Dotted paths or system fields.
    var fields: [String]
    /// Among objects that are not removed.
    var unique: Bool
    /// Of a `text` index.
    var language: String?

    init(name: String, kind: Kind, fields: [String], unique: Bool, language: String?) {
        self.name = name
        self.kind = kind
        self.fields = fields
        self.unique = unique
        self.language = language
    }

    /// Those made before there were kinds are `ordered`.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        kind = try values.decodeIfPresent(Kind.self, forKey: .kind) ?? .ordered
        fields = try values.decode([String].self, forKey: .fields)
        unique = try values.decode(Bool.self, forKey: .unique)
        language = try values.decodeIfPresent(String.self, forKey: .language)
    }

    /// What stands behind `ON table`: access method and keys.
    ///
    /// - Throws: `invalid-filter` for what is no field, `invalid-body`.
    func keys() throws -> PostgresQuery {
        guard kind != .ordered else { return "(\(try fields.map(Self.orderedKey).joined(separator: ", ")))" }
        guard fields.count == 1, !unique else {
            throw HTTPProblem(.invalidBody, "An index of this kind has one field and is not unique.", field: "fields")
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
            throw HTTPProblem(.invalidBody, "An index of this kind is on a field of the document.", field: "fields")
        }
        return path
    }

    private static func orderedKey(_ field: String) throws -> PostgresQuery {
        let isDescending = field.hasPrefix("-")
        let target = try Target(isDescending ? String(field.dropFirst()) : field)
        return isDescending ? "(\(target.expression)) DESC" : "(\(target.expression))"
    }
}
