import MartletAPI
import MartletCore
import MartletPostgres

/// A field of an object, or a nested field: `name`, `address.city`.
///
/// At most 8 parts of 1 to 128 bytes. No part may begin with `$` or contain control characters or backslashes.
struct FieldPath: Sendable, Hashable {
    static let maximumParts = 8

    let parts: [String]
    private let literals: [PostgresLiteral]

    /// - Throws: `invalid-filter` naming the field.
    init(_ text: String) throws {
        let parts = text.parts(between: ".")
        let literals = parts.compactMap(PostgresLiteral.init)
        let isWellFormed = parts.allSatisfy { !$0.isEmpty && $0.utf8.count <= 128 && !$0.begins(with: "$") }
        guard isWellFormed, literals.count == parts.count, parts.count <= Self.maximumParts else {
            throw ServiceError(.invalidFilter, "Expected a field's name or dotted path.", field: text)
        }
        self.parts = parts
        self.literals = literals
    }

    var text: String { parts.joined(separator: ".") }

    /// `doc->'address'->'city'`, as constant text, so that indexes on the same expression can be used.
    var expression: PostgresQuery { expression(in: "doc") }

    /// As `expression`, in a document with another name.
    func expression(in document: StaticString) -> PostgresQuery {
        var expression = PostgresQuery(unescaped: document.description)
        for literal in literals { expression.append("->\(literal)") }
        return expression
    }

    /// `jsonb_build_object('address', jsonb_build_object('city', value))`.
    func document(with value: PostgresQuery) -> PostgresQuery {
        literals.reversed().reduce(value) { "jsonb_build_object(\($1), \($0))" }
    }

    /// `doc->'address'->>'city'`.
    var textExpression: PostgresQuery {
        var expression: PostgresQuery = "doc"
        for literal in literals.dropLast() { expression.append("->\(literal)") }
        if let last = literals.last { expression.append("->>\(last)") }
        return "(\(expression))"
    }
}
