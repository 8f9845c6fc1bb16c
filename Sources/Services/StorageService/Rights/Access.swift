import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The rules of one collection, applied to one identity.
struct Access: Sendable {
    typealias Operation = CollectionRules.Operation

    let identity: Identity
    let rules: CollectionRules

    static let master = Access(identity: .master, rules: .open)

    /// - Throws: `forbidden` when no object whatever would be open to the operation.
    func require(_ operation: Operation) throws {
        guard permission(for: operation) != .denied else {
            throw HTTPProblem(.forbidden, "The collection's rules do not allow this: \(operation.rawValue).")
        }
    }

    /// The rows this identity may see in answer to `operation`; nil: all.
    func readable(for operation: Operation) -> PostgresQuery? { condition(column: "readers", operation) }

    /// As `readable(for:)` without the object's own list of readers, which followers check one by one.
    func ruled(for operation: Operation) -> PostgresQuery? {
        switch permission(for: operation) {
        case .granted: nil
        case .denied: "FALSE"
        case .fields(let paths): named(in: paths)
        }
    }

    /// The rows this identity may see and change by `operation`; nil: all.
    func writable(for operation: Operation) -> PostgresQuery? {
        guard identity != .master else { return nil }
        let parts = [condition(column: "readers", nil), condition(column: "writers", operation)].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: " AND ")
    }

    /// What a new object must satisfy; nil: anything.
    var creatable: PostgresQuery? {
        guard case .fields(let paths) = permission(for: .create) else { return nil }
        return named(in: paths)
    }

    var mayNotAddFields: Bool { permission(for: .addField) != .granted }

    /// Readers and writers of an object created without any; nil: everyone.
    var defaultReaders: [String]? { defaults(rules.defaults?.readers) }
    var defaultWriters: [String]? { defaults(rules.defaults?.writers) }

    private func defaults(_ names: [String]?) -> [String]? {
        names?.compactMap { $0 == "owner" ? identity.userID : $0 }
    }

    /// - Throws: `forbidden` naming a field that this identity cannot see in every object: neither filter nor order may tell of it.
    func check(_ path: FieldPath) throws {
        guard let grantees = rules.hidden?[path.parts[0]], permission(of: grantees) != .granted else { return }
        throw HTTPProblem(.forbidden, "This field is hidden.", field: path.text)
    }

    /// As `check(_:)`, of a field's name in a filter, order or list; system fields are never hidden.
    func check(_ target: Target) throws {
        if case .document(let path) = target { try check(path) }
    }

    /// Whether the whole of every object may be shown.
    var hidesNothing: Bool { hiddenFields.isEmpty }

    /// `doc` (of a row called `row`, if given) without the fields that are hidden from this identity.
    ///
    /// - Parameter isPast: `doc` is what the object was; what it is now stands in a row called `present`, and a field shows only where both
    ///   open it.
    func visible(_ document: PostgresQuery = "doc", isPast: Bool = false) -> PostgresQuery {
        hiddenFields.reduce(document) { visible, hidden in
            guard let condition = hidden.unless else { return "(\(visible) - \(hidden.name))" }
            let isOpen: PostgresQuery = !isPast ? condition : """
                (\(condition) AND (present.id IS NULL OR (SELECT \(condition) FROM (SELECT present.doc) AS now (doc))))
                """
            return "(CASE WHEN \(isOpen) THEN \(visible) ELSE \(visible) - \(hidden.name) END)"
        }
    }

    /// Fields of `old` that are hidden from this identity: what replacing a document must not take away.
    func kept(of old: PostgresQuery) -> PostgresQuery? {
        guard !hidesNothing else { return nil }
        return """
            coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(\(old)) \
            WHERE key = ANY (\(hiddenFields.map(\.name)))), '{}')
            """
    }

    /// Top-level fields that at least some objects hide from this identity, by name.
    private var hiddenFields: [(name: String, unless: PostgresQuery?)] {
        guard identity != .master, let hidden = rules.hidden else { return [] }
        return hidden.sorted { $0.key < $1.key }.compactMap { name, grantees in
            switch permission(of: grantees) {
            case .granted: nil
            case .denied: (name, nil)
            case .fields(let paths): (name, named(in: paths))
            }
        }
    }

    private enum Permission: Equatable {
        case granted
        case denied
        /// For objects that name the user in one of these fields.
        case fields([FieldPath])
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

    /// Whether one of the fields names the user.
    private func named(in paths: [FieldPath]) -> PostgresQuery {
        guard let userID = identity.userID else { return "FALSE" }
        let pointer = JSONValue.object([.init("__type", .string("Pointer")), .init("objectId", .string(userID))])
        let conditions = paths.flatMap { path in
            [JSONValue.string(userID), .array([.string(userID)]), pointer, .array([pointer])].map { value -> PostgresQuery in
                "doc @> \(Target.document(path, value))"
            }
        }
        return "(\(conditions.joined(separator: " OR ")))"
    }
}
