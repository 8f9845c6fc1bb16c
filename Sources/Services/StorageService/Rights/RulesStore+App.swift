import MartletAPI
import MartletCore
import MartletPostgres

/// The rules of all collections at once.
extension RulesStore {
    private typealias Stored = [(name: CollectionName, rules: CollectionRules)]

    func readAll(of space: AppSchema) async throws -> AppRules {
        rights.forget(space)
        let (known, access) = (try await rights.collections(of: space), try await rights.access(in: space))
        let stored: Stored = try known.sorted { $0.key < $1.key }.map { (try CollectionName($0.key), $0.value.rules) }
        return AppRules(access: access, stored)
    }

    /// What `set` would change. Nothing is written.
    ///
    /// - Throws: As `set`, except for `precondition-failed`.
    func plan(_ new: AppRules, of space: AppSchema) async throws -> AppRules.Plan {
        let checked = try await checked(new, of: space)
        let current = try await readAll(of: space)
        let (base, access) = (current.base ?? "", current.access ?? .closed)
        return Self.plan(new, checked, over: current.collections, access, base: base, from: base)
    }

    /// Sets the rules of all named collections, or none. Rules that stay as they are get no new version.
    ///
    /// - Throws: `precondition-failed` if `base` is not the current revision, and the errors of `set` for one
    ///   collection, naming the field.
    func set(_ new: AppRules, of space: AppSchema, by author: String) async throws -> AppRules.Plan {
        try await spaces.prepare(space)
        let checked = try await checked(new, of: space)
        let plan = try await postgres.withTransaction { transaction in
            let row = try await transaction.query(
                "SELECT access FROM storage.spaces WHERE schema = \(space.schema) FOR UPDATE"
            ).first
            let before = SpaceAccess(stored: try row?.decode(0, as: String?.self), in: space.environment)
            try await transaction.executeScript("SET LOCAL ROLE \(space.role.quoted)")
            // `CollectionStore.create` takes its locks in the same order.
            try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(space.schema), 0))")
            let stored = try await Self.lock(of: space, transaction)
            let revision = AppRules.revision(of: stored, before)
            guard new.base == nil || new.base == revision else {
                throw ServiceError(
                    .preconditionFailed, "The rules have changed since they were read.", field: "base")
            }
            let known = Dictionary(stored.map { ($0.name.text, $0.rules) }) { one, _ in one }
            for (name, rules) in checked where known[name.text] != rules {
                try await CollectionStore.create(name, of: space, transaction)
                try await Self.store(rules, on: name, of: space, by: author, transaction)
            }
            let changed = try await Self.lock(of: space, transaction)
            let after = new.access ?? before
            let plan = Self.plan(
                new, checked, over: stored, before, base: AppRules.revision(of: changed, after), from: revision)
            try await transaction.executeScript("RESET ROLE")
            if after != before { try await after.set(in: space, transaction) }
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
            return plan
        }
        rights.forget(space)
        return plan
    }

    /// Validates the rules and returns them as they are to be stored. The caller creates missing collections.
    private func checked(_ new: AppRules, of space: AppSchema) async throws -> Stored {
        let names = new.collections.map(\.name)
        var checked: Stored = []
        for (name, rules) in new.collections {
            do {
                checked.append((name, try await self.checked(rules, on: name, of: space, beside: names)))
            } catch let problem as ServiceError {
                throw problem.within("collections.\(name.text)")
            }
        }
        return checked
    }

    /// Reads the rules of all collections and locks them until the transaction ends.
    private static func lock(of space: AppSchema, _ transaction: PostgresTransaction) async throws -> Stored {
        let table = try space.own("_collections")
        try await transaction.execute("LOCK TABLE \(table) IN SHARE ROW EXCLUSIVE MODE")
        return try await transaction.query("SELECT name, rules::text FROM \(table) ORDER BY name COLLATE \"C\"").map {
            let text = try $0.decode(1, as: String.self)
            return (
                try CollectionName($0.decode(0)), (try? CollectionRules(JSONValue(parsing: text.utf8))) ?? .closed
            )
        }
    }

    private static func plan(
        _ new: AppRules, _ checked: Stored, over stored: Stored, _ access: SpaceAccess, base: String, from: String
    ) -> AppRules.Plan {
        let known = Dictionary(stored.map { ($0.name.text, $0.rules) }) { one, _ in one }
        let after = new.access ?? access
        let sorted = checked.sorted { $0.name.text < $1.name.text }
        return AppRules.Plan(
            base: base, isCurrent: new.base == from, access: (access, after),
            changes: sorted.flatMap { name, rules in
                RuleChange.between((known[name.text] ?? .none).json, rules.json, of: name.text)
            },
            warnings: sorted.flatMap { name, rules in
                RuleReport(rules: rules, spaceAccess: after).warnings(in: name)
            })
    }
}
