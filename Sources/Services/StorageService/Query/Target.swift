import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The left side of a condition: a column of ours or a path into the document.
enum Target {
    case system(SystemField)
    case document(FieldPath)

    /// - Throws: `invalid-filter`.
    init(_ name: String) throws {
        if let field = SystemField(rawValue: name) { self = .system(field) } else { self = .document(try FieldPath(name)) }
    }

    var name: String {
        switch self {
        case .system(let field): field.rawValue
        case .document(let path): path.text
        }
    }

    var expression: PostgresQuery {
        switch self {
        case .system(let field): field.column
        case .document(let path): path.expression
        }
    }

    func equality(_ value: JSONValue) throws -> PostgresQuery {
        switch self {
        case .system(let field):
            if value == .null { return "\(field.column) IS NULL" }
            return "\(field.column) = \(try bound(value, as: field))"
        case .document(let path):
            switch value {
            case .null: return "(\(path.expression) IS NULL OR \(path.expression) = 'null'::jsonb)"
            case .bool, .number, .string: return "doc @@ \(Self.match(path, value))::jsonpath"
            case .array: return "\(path.expression) = \(PostgresJSON(value.text))"
            case .object:
                let around = path.parts.reversed().reduce(value) { .object([.init($1, $0)]) }
                return "(doc @> \(PostgresJSON(around.text)) AND \(path.expression) = \(PostgresJSON(value.text)))"
            }
        }
    }

    /// One path match for all scalars, so that the index is asked once.
    func equality(toAnyOf values: [JSONValue]) throws -> PostgresQuery {
        guard case .document(let path) = self else {
            return try values.map(equality).joined(separator: " OR ")
        }
        let scalars = values.filter(\.isMatchable)
        var alternatives = try values.filter { !$0.isMatchable }.map(equality)
        if !scalars.isEmpty {
            let match = scalars.map { Self.match(path, $0) }.joined(separator: " || ")
            alternatives.append("doc @@ \(match)::jsonpath")
        }
        return alternatives.joined(separator: " OR ")
    }

    func comparison(_ sign: StaticString, _ value: JSONValue) throws -> PostgresQuery {
        switch self {
        case .system(let field):
            return "\(field.column) \(unescaped: sign) \(try bound(value, as: field))"
        case .document(let path):
            let type: PostgresQuery
            switch value {
            case .number: type = "'number'"
            case .string: type = "'string'"
            case .bool: type = "'boolean'"
            default: throw HTTPProblem(.invalidFilter, "Only numbers, strings and booleans can be compared.", field: name)
            }
            let expression = path.expression
            return "(jsonb_typeof(\(expression)) = \(type) AND \(expression) \(unescaped: sign) \(PostgresJSON(value.text)))"
        }
    }

    private static func match(_ path: FieldPath, _ value: JSONValue) -> String {
        path.jsonPath + " == " + value.text
    }

    private func bound(_ value: JSONValue, as field: SystemField) throws -> PostgresQuery {
        switch (field, value) {
        case (.id, .string(let id)): return "\(id)"
        case (.version, .number(let literal)):
            if let version = Int(literal) { return "\(version)" }
        case (.created, .string(let text)), (.updated, .string(let text)), (.deleted, .string(let text)):
            if let date = Self.date(text) { return "\(date)" }
        default: break
        }
        throw HTTPProblem(.invalidFilter, "The value's type does not fit the field.", field: name)
    }

    /// RFC 3339, with or without fractions of a second.
    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }
}

extension JSONValue {
    /// Whether `==` of the path language takes it.
    fileprivate var isMatchable: Bool {
        switch self {
        case .bool, .number, .string: true
        case .null, .array, .object: false
        }
    }
}
