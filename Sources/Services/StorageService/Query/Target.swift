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
            case .bool, .number, .string:
                return "(doc @> \(Self.document(path, value)) OR doc @> \(Self.document(path, .array([value]))))"
            case .array: return "\(path.expression) = \(PostgresJSON(value.text))"
            case .object:
                return "(doc @> \(Self.document(path, value)) AND \(path.expression) = \(PostgresJSON(value.text)))"
            }
        }
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

    /// `{"address":{"city":value}}`: the smallest document that has the value at the path.
    ///
    /// Containment in it is what the GIN index answers. A match of SQL/JSON path (`@@`) is found by the same index, but
    /// PostgreSQL 15 then takes 6 µs to check each row again, where containment takes 0.5 µs.
    static func document(_ path: FieldPath, _ value: JSONValue) -> PostgresJSON {
        PostgresJSON(path.parts.reversed().reduce(value) { .object([.init($1, $0)]) }.text)
    }

    private func bound(_ value: JSONValue, as field: SystemField) throws -> PostgresQuery {
        switch (field, value) {
        case (.id, .string(let id)): return "\(id)"
        case (.version, .number(let literal)):
            if let version = Int(literal) { return "\(version)" }
        case (.created, .string(let text)), (.updated, .string(let text)), (.deleted, .string(let text)):
            if let date = Timestamps.date(text) { return "\(date)" }
        default: break
        }
        throw HTTPProblem(.invalidFilter, "The value's type does not fit the field.", field: name)
    }
}
