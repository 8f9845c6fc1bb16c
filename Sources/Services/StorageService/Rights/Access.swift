import MartletAPI
import MartletCore
import MartletPostgres

/// The rules of a collection, applied to one identity.
struct Access: Sendable {
    typealias Operation = CollectionRules.Operation

    let identity: Identity
    let rules: CollectionRules
    /// What clients may do where no rule says otherwise.
    var spaceAccess = SpaceAccess.open
    /// Whether the environment is closed to clients.
    var isClosed = false
    /// Whether it is `_User`, which only auth writes.
    var isOfUsers = false
    /// Nil for the master key, to which no condition applies.
    var ruleScope: RuleScope?
    /// The change of an object, which entries with limits check; nil if the object is written as a whole.
    var change: Document?
    /// Whether limits on changes are ignored, to find out what some change could reach.
    var ignoresLimits = false

    static let master = Access(identity: .master, rules: .none)
    static let masterOfUsers = Access(identity: .master, rules: .none, isOfUsers: true)

    /// - Throws: `forbidden` if the operation would not be allowed for any object.
    func require(_ operation: Operation) throws {
        if isClosed { throw Self.closed }
        if isOfUsers, [.create, .update, .delete].contains(operation) { throw Self.writtenByAuth }
        guard permission(for: operation) != .denied else { throw refusal(of: operation) }
        guard operation == .update || operation == .delete, permission(for: .get) == .denied,
            permission(for: .find) == .denied
        else { return }
        throw ServiceError(
            .forbidden, "To \(operation.rawValue) an object, the caller must be able to read it, by get or by find.")
    }

    /// Whether `require` refuses the operation for every object and every change.
    func refuses(_ operation: Operation) -> Bool {
        var access = self
        access.ignoresLimits = true
        return (try? access.require(operation)) == nil
    }

    private func refusal(of operation: Operation) -> ServiceError {
        rules.grantees(operation) == nil
            ? Self.noRule(for: operation)
            : ServiceError(.forbidden, "The collection's rules do not allow this: \(operation.rawValue).")
    }

    /// The refusal in a closed space. It does not say whether the collection exists.
    private static func noRule(for operation: Operation) -> ServiceError {
        ServiceError(
            .forbidden,
            """
            No rule allows the operation "\(operation.rawValue)", and this environment is closed to everything that no \
            rule allows. The app's developer sets rules with PUT collections/{collection}/rules.
            """)
    }

    /// The refusal of clients in a closed environment.
    static let closed = ServiceError(
        .forbidden,
        "The test environment has a copy of live data and is closed to clients. The app's server opens it: PUT environment."
    )

    /// The condition under which this identity may see a row in the answer to `operation`; nil for all rows.
    func readable(for operation: Operation) -> PostgresQuery? { condition(column: "readers", operation) }

    /// As `readable(for:)`, but without the object's own list of readers, which live streams check for each subscriber.
    func allowedByRules(for operation: Operation) -> PostgresQuery? {
        switch permission(for: operation) {
        case .granted: nil
        case .denied: "FALSE"
        case .some(let grants): holds(grants)
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
        case (let get, let find): return "\(listed) AND \(holds(get.grants + find.grants))"
        }
    }

    /// The condition under which this identity may change a row that it sees by `operation`; nil for all rows.
    func changeable(by operation: Operation) -> PostgresQuery? { condition(column: "writers", operation) }

    /// The columns `seen` and `may`, which a statement reads before it changes a row. Never null, although a condition
    /// can be.
    func columns(for operation: Operation) -> PostgresQuery {
        let seen = seen ?? "TRUE"
        return """
            (\(seen)) IS TRUE AS seen, ((\(seen)) AND (\(changeable(by: operation) ?? "TRUE"))) IS TRUE AS may
            """
    }

    /// The error for an object that this identity may read but not change.
    static func refusal(_ operation: Operation) -> ServiceError {
        ServiceError(
            .forbidden, "The collection's rules or the object's writers do not allow this: \(operation.rawValue).")
    }

    /// The condition for new objects; nil for none.
    var creatable: PostgresQuery? {
        guard case .some(let grants) = permission(for: .create) else { return nil }
        return holds(grants, .created)
    }

    /// The columns that a condition can name.
    static let conditionColumns = ["doc", "created", "updated", "deleted", "version", "readers", "writers"]

    /// The list of these columns, each changed by `column`.
    static func conditionColumns(_ column: (String) -> String) -> PostgresQuery {
        PostgresQuery(unescaped: conditionColumns.map(column).joined(separator: ", "))
    }

    /// The condition on an update as a whole, for a row that `changeable(by:)` admits; nil for none. In the row, `doc`
    /// and `new_doc` are the new document, and `old_` begins the names of the old row's `conditionColumns`.
    var updatable: PostgresQuery? {
        guard case .some(let grants) = permission(for: .update), grants.contains(where: { $0.condition != nil }) else {
            return nil
        }
        func before(_ condition: PostgresQuery) -> PostgresQuery {
            let (old, names) = (Self.conditionColumns { "old_\($0)" }, Self.conditionColumns { $0 })
            return "(SELECT \(condition) FROM (SELECT \(old)) AS past (\(names)))"
        }
        let conditions = grants.map { grant -> PostgresQuery in
            guard let condition = grant.condition, !condition.comparesStates else {
                return before(holds(grant, .updated))
            }
            let after = compiled(condition, .result)
            // If there is a single grant, it is the one that has admitted the row.
            return grants.count == 1 ? after : "(\(before(holds(grant, .updated))) AND \(after))"
        }
        return "(\(conditions.joined(separator: " OR ")))"
    }

    /// The values that rules give to fields in a write by this identity; nil for none.
    ///
    /// - Parameters:
    ///   - creates: Whether the write can create an object.
    ///   - updates: Whether it can update one.
    func presetValues(creates: Bool = true, updates: Bool = true) throws -> FieldPresets.Values? {
        guard let ruleScope, let presets = rules.presets else { return nil }
        let context = ConditionContext(identity: identity, environment: ruleScope.space.environment, states: .one)
        return try presets.values(context, creates: creates, updates: updates)
    }

    var mayNotAddFields: Bool { permission(for: .addField) != .granted }

    /// The refusal of a field that no object has had.
    func refusal(ofNew field: FieldName) -> ServiceError {
        rules.grantees(.addField) == nil
            ? ServiceError(
                .forbidden,
                """
                No rule allows new fields ("addField"), and this environment is closed to everything that no rule \
                allows. The app's developer sets rules with PUT collections/{collection}/rules, or declares the field \
                in the collection's schema.
                """, field: field.text)
            : ServiceError(.forbidden, "The collection's rules do not allow new fields.", field: field.text)
    }

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
            case .some(let grants):
                let condition = holds(grants)
                fieldGuard = HiddenFieldGuard(
                    condition: fieldGuard.map { "\($0.condition) AND \(condition)" } ?? condition,
                    field: fieldGuard?.field ?? field
                )
            }
        }
        return fieldGuard
    }

    /// The time limit for a statement that reads objects for this identity; nil for the PostgreSQL client's own limit.
    ///
    /// Rules that read other objects take time for each object that the filter selects, and without an index that is
    /// the whole collection. Meanwhile the statement occupies one of a few connections.
    var timeLimit: Duration? {
        let lists = [Operation.get, .find, .count].compactMap(rules.grantees) + (rules.hidden ?? [:]).values
        let readsOthers = lists.contains { list in
            list.conditions.contains { !$0.collections.isEmpty }
                && permission(of: list).grants.contains { $0.condition?.collections.isEmpty == false }
        }
        return readsOthers ? .seconds(3) : nil
    }

    /// Whether all fields of all objects are visible.
    var hidesNothing: Bool { hiddenFields.isEmpty }

    /// Removes the fields that are hidden from this identity from `doc`.
    ///
    /// - Parameter isPast: Whether `doc` is an earlier state of the object whose current row is named `present`. A
    ///   field is then visible only if both states show it.
    func visible(_ document: PostgresQuery = "doc", isPast: Bool = false) -> PostgresQuery {
        let fields = hiddenFields
        guard !fields.isEmpty else { return document }
        let always = fields.filter { $0.unless == nil }.map(\.name)
        let sometimes = fields.compactMap { field in
            field.unless.map { condition -> PostgresQuery in
                guard isPast else { return "(\(field.name)::text, \(condition))" }
                let (present, names) = (Self.conditionColumns { "present.\($0)" }, Self.conditionColumns { $0 })
                let isStillOpen: PostgresQuery =
                    "(present.id IS NULL OR (SELECT \(condition) FROM (SELECT \(present)) AS now (\(names))))"
                return "(\(field.name)::text, \(condition) AND \(isStillOpen))"
            }
        }
        guard !sometimes.isEmpty else { return "(\(document) - \(always)::text[])" }
        return """
            (\(document) - \(always)::text[] - ARRAY(SELECT hidden.name FROM (VALUES \(sometimes.joined(separator: ", "))) \
            AS hidden (name, shown) WHERE shown IS NOT TRUE))
            """
    }

    /// The hidden fields of `old`, which replacing a document must preserve; nil if none are hidden.
    func kept(of old: PostgresQuery) -> PostgresQuery? {
        hidesNothing ? nil : Self.fields(hiddenFields.map(\.name), of: old)
    }

    /// The part of a document that consists of these top-level fields.
    static func fields(_ names: [String], of document: PostgresQuery) -> PostgresQuery {
        """
        coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(\(document)) WHERE key = ANY (\(names))), '{}')
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
            case .some(let grants): (name.text, holds(grants))
            }
        }
    }

    private enum Permission: Equatable {
        case granted
        case denied
        /// Granted for the objects to which one of these grants applies.
        case some([Grant])

        var grants: [Grant] { if case .some(let grants) = self { grants } else { [] } }
    }

    /// The objects to which an entry of a rule admits this identity: those that name the user in one of the fields,
    /// those for which a condition holds, or those for which both are true.
    private struct Grant: Equatable {
        var fields: [FieldPath]?
        var condition: RuleCondition?
    }

    private func permission(for operation: Operation) -> Permission {
        guard let grantees = rules.grantees(operation) else {
            return identity == .master || spaceAccess == .open ? .granted : .denied
        }
        return permission(of: grantees)
    }

    private func permission(of grantees: Grantees) -> Permission {
        if identity == .master { return .granted }
        let own = identity.names
        if admits(grantees.names, own) { return .granted }
        let isUser = identity.userID != nil
        var grants: [Grant] = []
        let fields = isUser ? Self.fields(in: grantees.names) : []
        if !fields.isEmpty { grants.append(Grant(fields: fields)) }
        for condition in grantees.conditions where (isUser || !condition.namesUser) && admitsChange(condition) {
            let fields = isUser ? Self.fields(in: condition.who) : []
            if admits(condition.who, own) {
                grants.append(Grant(condition: condition))
            } else if !fields.isEmpty {
                grants.append(Grant(fields: fields, condition: condition))
            }
        }
        return grants.isEmpty ? .denied : .some(grants)
    }

    private func admitsChange(_ condition: RuleCondition) -> Bool {
        guard let limits = condition.limits, !ignoresLimits else { return true }
        guard let change, let ruleScope else { return false }
        let context = ruleScope.context(of: condition, for: identity, .updated)
        return limits.excess(of: change, ignoring: rules.presets?.kept ?? [], context) == nil
    }

    /// For which objects an operation is open to a caller.
    enum Reach: String, Encodable, Comparable {
        case none, some, all

        static func < (one: Reach, other: Reach) -> Bool {
            switch (one, other) {
            case (.none, .some), (.none, .all), (.some, .all): true
            default: false
            }
        }
    }

    /// The objects that the rules open to this identity for `operation`, before the objects' own lists of readers and
    /// writers.
    func reach(of operation: Operation) -> Reach {
        let own = reach(permission(for: operation))
        guard operation == .update || operation == .delete else { return own }
        // What cannot be read cannot be changed.
        return min(own, readReach)
    }

    /// The objects of which this identity may read a field that has a list in `hidden`.
    func reach(ofHidden field: FieldName) -> Reach {
        min(rules.hidden?[field].map { reach(permission(of: $0)) } ?? .all, readReach)
    }

    private var readReach: Reach { max(reach(permission(for: .get)), reach(permission(for: .find))) }

    private func reach(_ permission: Permission) -> Reach {
        switch permission {
        case .granted: .all
        case .denied: .none
        case .some(let grants): grants.contains { $0.fields == nil && $0.condition?.isEmpty == true } ? .all : .some
        }
    }

    /// Whether one of the names includes this identity, whatever the object.
    private func admits(_ names: [String], _ own: [String]) -> Bool {
        names.contains { own.contains($0) || ($0 == "authenticated" && identity.userID != nil) }
    }

    private static func fields(in names: [String]) -> [FieldPath] {
        names.filter { $0.hasPrefix("field:") }.compactMap { try? FieldPath(String($0.dropFirst(6))) }
    }

    private func condition(column: StaticString, _ operation: Operation?) -> PostgresQuery? {
        guard identity != .master else { return nil }
        let listed: PostgresQuery = "(\(unescaped: column) IS NULL OR \(unescaped: column) && \(identity.names))"
        guard let operation else { return listed }
        switch permission(for: operation) {
        case .granted: return listed
        case .denied: return "FALSE"
        case .some(let grants): return "\(listed) AND \(holds(grants, operation.states, isBefore: true))"
        }
    }

    // MARK: Conditions

    /// The condition that one of the grants applies.
    ///
    /// - Parameter isBefore: Whether this is before an update; `updatable` then checks the new state.
    private func holds(
        _ grants: [Grant], _ states: ConditionContext.States = .one, isBefore: Bool = false
    ) -> PostgresQuery {
        let conditions = grants.map { grant -> PostgresQuery in
            guard isBefore, states == .updated, grant.condition?.comparesStates == true else {
                return holds(grant, states)
            }
            return grant.fields.map(named) ?? "TRUE"
        }
        return "(\(conditions.joined(separator: " OR ")))"
    }

    private func holds(_ grant: Grant, _ states: ConditionContext.States) -> PostgresQuery {
        let parts = [grant.fields.map(named), grant.condition.map { compiled($0, states) }].compactMap(\.self)
        return parts.count == 1 ? parts[0] : "(\(parts.joined(separator: " AND ")))"
    }

    /// The condition as SQL. Conditions are checked when rules are set. If one cannot be compiled any more, it admits
    /// nobody.
    private func compiled(_ condition: RuleCondition, _ states: ConditionContext.States) -> PostgresQuery {
        let filter = try? ruleScope?.filter(condition, for: identity, states)
        return filter.map { "(\($0.condition))" } ?? "FALSE"
    }

    /// How the rule for `operation` uses fields: those of the entries that admit this identity to some objects. The
    /// result has no condition.
    func uses(of operation: Operation) -> Filter {
        permission(for: operation).grants.reduce(into: Filter(condition: "TRUE")) { sum, grant in
            sum.uses += (grant.fields ?? []).map { IndexUse(field: $0.text, kind: .equality) }
            guard let condition = grant.condition,
                let filter = try? ruleScope?.filter(condition, for: identity, operation.states)
            else { return }
            sum.uses += filter.uses
            sum.addUsesElsewhere(of: filter)
        }
    }

    /// The condition that one of the fields names the user.
    private func named(in paths: [FieldPath]) -> PostgresQuery {
        guard let userID = identity.userID else { return "FALSE" }
        return Self.naming(userID, in: paths)
    }

    /// The condition that one of the fields names a user: by id, by a Pointer, or in a list of these.
    static func naming(_ userID: String, in paths: [FieldPath]) -> PostgresQuery {
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
