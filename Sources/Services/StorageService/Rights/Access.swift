import MartletAPI
import MartletCore
import MartletPostgres

/// The rules of a collection, applied to one identity.
struct Access: Sendable {
    typealias Operation = CollectionRules.Operation

    let identity: Identity
    let rules: CollectionRules
    /// Whether the environment is closed to clients.
    var isClosed = false

    static let master = Access(identity: .master, rules: .open)

    /// - Throws: `forbidden` if the operation would not be allowed for any object.
    func require(_ operation: Operation) throws {
        if isClosed { throw Self.closed }
        guard permission(for: operation) != .denied else {
            throw ServiceError(.forbidden, "The collection's rules do not allow this: \(operation.rawValue).")
        }
        guard operation == .update || operation == .delete, permission(for: .get) == .denied,
            permission(for: .find) == .denied
        else { return }
        throw ServiceError(
            .forbidden, "To \(operation.rawValue) an object, the caller must be able to read it, by get or by find.")
    }

    /// The refusal of clients in a closed environment.
    static let closed = ServiceError(
        .forbidden,
        "The test environment has a copy of live data and is closed to clients. The app's server opens it: PUT environment."
    )

    /// The condition under which this identity may see a row in the answer to `operation`; nil for all rows.
    func readable(for operation: Operation) -> PostgresQuery? { condition(column: "readers", operation) }

    /// As `readable(for:)` without the object's own list of readers, which followers check one by one.
    func ruled(for operation: Operation) -> PostgresQuery? {
        switch permission(for: operation) {
        case .granted: nil
        case .denied: "FALSE"
        case .fields(let paths): named(in: paths)
        }
    }

    /// The condition under which this identity may read a row at all: its list of readers and the rule for `get` or
    /// `find` allow it. Nil for all rows.
    var seen: PostgresQuery? {
        guard identity != .master else { return nil }
        let listed: PostgresQuery = "(readers IS NULL OR readers && \(identity.names))"
        switch (permission(for: .get), permission(for: .find)) {
        case (.granted, _), (_, .granted): return listed
        case (.denied, .denied): return "FALSE"
        case (let get, let find): return "\(listed) AND \(named(in: get.paths + find.paths))"
        }
    }

    /// The condition under which this identity may change a row that it sees by `operation`; nil for all rows.
    func changeable(by operation: Operation) -> PostgresQuery? { condition(column: "writers", operation) }

    /// The columns `seen` and `may`, which a statement reads before it changes a row.
    func columns(for operation: Operation) -> PostgresQuery {
        let seen = seen ?? "TRUE"
        return "(\(seen)) AS seen, (\(seen)) AND (\(changeable(by: operation) ?? "TRUE")) AS may"
    }

    /// The error for an object that this identity may read but not change.
    static func refusal(_ operation: Operation) -> ServiceError {
        ServiceError(
            .forbidden, "The collection's rules or the object's writers do not allow this: \(operation.rawValue).")
    }

    /// The condition for new objects; nil for none.
    var creatable: PostgresQuery? {
        guard case .fields(let paths) = permission(for: .create) else { return nil }
        return named(in: paths)
    }

    var mayNotAddFields: Bool { permission(for: .addField) != .granted }

    /// The readers and writers of an object created without any; nil for everyone.
    var defaultReaders: [String]? { defaults(rules.defaults?.readers) }
    var defaultWriters: [String]? { defaults(rules.defaults?.writers) }

    private func defaults(_ names: [String]?) -> [String]? {
        names?.compactMap { $0 == "owner" ? identity.userID : $0 }
    }

    /// - Throws: `forbidden` naming a field that some objects hide from this identity, because a filter or order could
    ///   reveal it.
    func check(_ path: FieldPath) throws {
        guard let grantees = rules.hidden?[FieldName(path.parts[0])], permission(of: grantees) != .granted else {
            return
        }
        throw ServiceError(.forbidden, "This field is hidden.", field: path.text)
    }

    /// As `check(_:)`, for a field in a filter, order or list; system fields are never hidden.
    func check(_ target: Target) throws {
        if case .document(let path) = target { try check(path) }
    }

    /// The condition under which a write to an object reveals no hidden values.
    struct HiddenFieldGuard: Sendable {
        let condition: PostgresQuery
        /// One of the fields involved.
        let field: FieldName

        var refusal: ServiceError { Access.hidden(field) }
    }

    private static func hidden(_ field: FieldName) -> ServiceError {
        ServiceError(
            .forbidden, "This field is hidden. A write that depends on its value would reveal it.",
            field: field.text)
    }

    /// The guard for a write whose outcome depends on the values of these fields; nil if none of them is ever hidden
    /// from this identity.
    ///
    /// - Throws: `forbidden` naming a field that every object hides from this identity.
    func hiddenFieldGuard(_ fields: Set<FieldName>) throws -> HiddenFieldGuard? {
        guard identity != .master, let hidden = rules.hidden else { return nil }
        var fieldGuard: HiddenFieldGuard?
        for field in fields.sorted() {
            guard let grantees = hidden[field] else { continue }
            switch permission(of: grantees) {
            case .granted: continue
            case .denied: throw Self.hidden(field)
            case .fields(let paths):
                let condition = named(in: paths)
                fieldGuard = HiddenFieldGuard(
                    condition: fieldGuard.map { "\($0.condition) AND \(condition)" } ?? condition,
                    field: fieldGuard?.field ?? field
                )
            }
        }
        return fieldGuard
    }

    /// Whether all fields of all objects are visible.
    var hidesNothing: Bool { hiddenFields.isEmpty }

    /// Removes the fields that are hidden from this identity from `doc`.
    ///
    /// - Parameter isPast: Whether `doc` is an earlier state of the object whose current row is named `present`. A
    ///   field is then visible only if both states show it.
    func visible(_ document: PostgresQuery = "doc", isPast: Bool = false) -> PostgresQuery {
        hiddenFields.reduce(document) { visible, hidden in
            guard let condition = hidden.unless else { return "(\(visible) - \(hidden.name))" }
            let isOpen: PostgresQuery =
                !isPast
                ? condition
                : """
                (\(condition) AND (present.id IS NULL OR (SELECT \(condition) FROM (SELECT present.doc) AS now (doc))))
                """
            return "(CASE WHEN \(isOpen) THEN \(visible) ELSE \(visible) - \(hidden.name) END)"
        }
    }

    /// The hidden fields of `old`, which replacing a document must preserve; nil if none are hidden.
    func kept(of old: PostgresQuery) -> PostgresQuery? {
        guard !hidesNothing else { return nil }
        return """
            coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(\(old)) \
            WHERE key = ANY (\(hiddenFields.map(\.name)))), '{}')
            """
    }

    /// Top-level fields that at least some objects hide from this identity, with the condition under which an object
    /// does not.
    private var hiddenFields: [(name: String, unless: PostgresQuery?)] {
        guard identity != .master, let hidden = rules.hidden else { return [] }
        return hidden.sorted { $0.key < $1.key }.compactMap { name, grantees in
            switch permission(of: grantees) {
            case .granted: nil
            case .denied: (name.text, nil)
            case .fields(let paths): (name.text, named(in: paths))
            }
        }
    }

    private enum Permission: Equatable {
        case granted
        case denied
        /// For objects that name the user in one of these fields.
        case fields([FieldPath])

        var paths: [FieldPath] { if case .fields(let paths) = self { paths } else { [] } }
    }

    private func permission(for operation: Operation) -> Permission {
        guard let grantees = rules.grantees(operation) else { return .granted }
        return permission(of: grantees)
    }

    private func permission(of grantees: [String]) -> Permission {
        if identity == .master { return .granted }
        let own = identity.names
        let isUser = identity.userID != nil
        if grantees.contains(where: { own.contains($0) || ($0 == "authenticated" && isUser) }) { return .granted }
        guard isUser else { return .denied }
        let paths = grantees.filter { $0.hasPrefix("field:") }.compactMap { try? FieldPath(String($0.dropFirst(6))) }
        return paths.isEmpty ? .denied : .fields(paths)
    }

    private func condition(column: StaticString, _ operation: Operation?) -> PostgresQuery? {
        guard identity != .master else { return nil }
        let listed: PostgresQuery = "(\(unescaped: column) IS NULL OR \(unescaped: column) && \(identity.names))"
        guard let operation else { return listed }
        switch permission(for: operation) {
        case .granted: return listed
        case .denied: return "FALSE"
        case .fields(let paths): return "\(listed) AND \(named(in: paths))"
        }
    }

    /// The condition that one of the fields names the user.
    private func named(in paths: [FieldPath]) -> PostgresQuery {
        guard let userID = identity.userID else { return "FALSE" }
        let pointer = JSONValue.object([.init("__type", .string("Pointer")), .init("objectId", .string(userID))])
        let conditions = paths.flatMap { path in
            [JSONValue.string(userID), .array([.string(userID)]), pointer, .array([pointer])].map {
                value -> PostgresQuery in
                "doc @> \(Target.document(path, value))"
            }
        }
        return "(\(conditions.joined(separator: " OR ")))"
    }
}
