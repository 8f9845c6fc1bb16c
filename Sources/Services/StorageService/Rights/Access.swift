import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The rules of one collection, applied to one identity.
struct Access: Sendable {
    typealias Operation = CollectionRules.Operation

    let identity: Identity
    let rules: CollectionRules
    /// Whether the environment keeps clients out.
    var isClosed = false

    static let master = Access(identity: .master, rules: .open)

    /// - Throws: `forbidden` when no object whatever would be open to the operation.
    func require(_ operation: Operation) throws {
        if isClosed { throw Self.closed }
        guard permission(for: operation) != .denied else {
            throw HTTPProblem(.forbidden, "The collection's rules do not allow this: \(operation.rawValue).")
        }
        guard operation == .update || operation == .delete, permission(for: .get) == .denied,
            permission(for: .find) == .denied
        else { return }
        throw HTTPProblem(
            .forbidden, "Who may \(operation.rawValue) an object must be able to read it: by get or by find.")
    }

    /// What a client gets where the app keeps clients out.
    static let closed = HTTPProblem(
        .forbidden,
        "The test environment has a copy of live data and is closed to clients. The app's server opens it: PUT environment."
    )

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

    /// The rows this identity may read in any way: its list of readers lets them, and the rule for `get` or that for
    /// `find`. Nil: all.
    var seen: PostgresQuery? {
        guard identity != .master else { return nil }
        let listed: PostgresQuery = "(readers IS NULL OR readers && \(identity.names))"
        switch (permission(for: .get), permission(for: .find)) {
        case (.granted, _), (_, .granted): return listed
        case (.denied, .denied): return "FALSE"
        case (let get, let find): return "\(listed) AND \(named(in: get.paths + find.paths))"
        }
    }

    /// Of the rows this identity sees, those that it may change by `operation`; nil: all.
    func changeable(by operation: Operation) -> PostgresQuery? { condition(column: "writers", operation) }

    /// What a statement has to know before it changes a row: the columns `seen` and `may`.
    func columns(for operation: Operation) -> PostgresQuery {
        let seen = seen ?? "TRUE"
        return "(\(seen)) AS seen, (\(seen)) AND (\(changeable(by: operation) ?? "TRUE")) AS may"
    }

    /// For an object that this identity may read but not change.
    static func refusal(_ operation: Operation) -> HTTPProblem {
        HTTPProblem(
            .forbidden, "The collection's rules or the object's writers do not allow this: \(operation.rawValue).")
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

    /// - Throws: `forbidden` naming a field that this identity cannot see in every object: neither filter nor order may
    ///   tell of it.
    func check(_ path: FieldPath) throws {
        guard let grantees = rules.hidden?[FieldName(path.parts[0])], permission(of: grantees) != .granted else {
            return
        }
        throw HTTPProblem(.forbidden, "This field is hidden.", field: path.text)
    }

    /// As `check(_:)`, of a field's name in a filter, order or list; system fields are never hidden.
    func check(_ target: Target) throws {
        if case .document(let path) = target { try check(path) }
    }

    /// What an object must satisfy so that a write to it tells nothing of what is hidden.
    struct Veil: Sendable {
        let condition: PostgresQuery
        /// One of the fields.
        let field: FieldName

        var refusal: HTTPProblem { Access.hidden(field) }
    }

    private static func hidden(_ field: FieldName) -> HTTPProblem {
        HTTPProblem(
            .forbidden, "This field is hidden. A write that depends on what it holds would tell of it.",
            field: field.text)
    }

    /// The veil of a write whose outcome depends on what these fields hold; nil: none of them is ever hidden from this
    /// identity.
    ///
    /// - Throws: `forbidden` naming a field that no object shows to this identity.
    func veil(_ fields: Set<FieldName>) throws -> Veil? {
        guard identity != .master, let hidden = rules.hidden else { return nil }
        var veil: Veil?
        for field in fields.sorted() {
            guard let grantees = hidden[field] else { continue }
            switch permission(of: grantees) {
            case .granted: continue
            case .denied: throw Self.hidden(field)
            case .fields(let paths):
                let condition = named(in: paths)
                veil = Veil(
                    condition: veil.map { "\($0.condition) AND \(condition)" } ?? condition, field: veil?.field ?? field
                )
            }
        }
        return veil
    }

    /// Whether the whole of every object may be shown.
    var hidesNothing: Bool { hiddenFields.isEmpty }

    /// `doc` (of a row called `row`, if given) without the fields that are hidden from this identity.
    ///
    /// - Parameter isPast: `doc` is what the object was; what it is now stands in a row called `present`, and a field
    ///   shows only where both open it.
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

    /// Whether one of the fields names the user.
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
