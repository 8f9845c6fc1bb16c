import MartletAPI
import MartletCore
import MartletPostgres
import MartletSchema

/// The schema of a collection, compiled.
struct CollectionSchema: Sendable {
    /// Different for every schema that was ever set. The collection's trigger (`storage.require_checked`) refuses
    /// documents that were checked against another one, so no writer can miss a change.
    let revision: Int
    let schema: JSONSchema
    /// The top-level fields that the schema describes.
    let fields: Set<FieldName>

    init(revision: Int, schema: JSONSchema) {
        (self.revision, self.schema) = (revision, schema)
        guard case .object(let members) = schema.document["properties"] else {
            fields = []
            return
        }
        fields = Set(members.map { FieldName($0.name) })
    }

    /// The document, declared to the trigger as checked.
    func checked(_ document: PostgresQuery) -> PostgresQuery { "storage.checked(\(document), \(String(revision)))" }

    /// A new document with the defaults of absent fields, declared to the trigger as checked.
    func completed(_ document: PostgresQuery) -> PostgresQuery {
        let defaults = schema.defaults(for: .object([]))
        guard !defaults.isEmpty else { return checked(document) }
        return checked("\(PostgresJSON(JSONValue.object(defaults).text)) || \(document)")
    }

    /// - Throws: `document-refused`. `field` is the JSON Pointer of the first violation; `findings` has the first ten.
    func check(_ document: JSONValue, for access: Access) throws {
        guard case .object(let members) = document else { return }
        let violations = schema.violations(of: .object(members.filter { SystemField(rawValue: $0.name) == nil }))
        guard let first = violations.first else { return }
        // The caller did not write a field that is hidden from them, and must not learn about its value.
        guard violations.allSatisfy(access.shows) else {
            throw ServiceError(.documentRefused, "The object does not fit the collection's schema in a hidden field.")
        }
        throw ServiceError(
            .documentRefused, first.message, field: first.pointer,
            findings: violations.map { .init(.error, $0.code, at: $0.pointer, $0.message) })
    }

    /// Checks a stored document.
    ///
    /// - Throws: As `check`, also for a document too deep to be parsed again.
    func check(stored text: String, for access: Access) throws {
        guard let document = try? JSONValue(parsing: text.utf8) else {
            throw ServiceError(.documentRefused, "The object would be too deep to be checked against the schema.")
        }
        try check(document, for: access)
    }
}

extension SchemaViolation {
    /// The keyword as findings spell their codes: `min-length`.
    fileprivate var code: String {
        keyword.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    }
}

extension Access {
    /// Whether the violation says nothing about fields that are hidden from the caller.
    fileprivate func shows(_ violation: SchemaViolation) -> Bool {
        // The number of fields counts the hidden ones.
        if violation.pointer.isEmpty, violation.keyword.hasSuffix("Properties") { return hidesNothing }
        guard let field = violation.topLevelMember, let path = try? FieldPath(field) else { return true }
        return (try? check(path)) != nil
    }
}
