import MartletAPI
import MartletCore
import MartletPostgres

/// Reads and sets the rules of collections.
struct RulesStore: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore
    let rights: RightsStore
    let trialLimits: RuleTrial.Limits

    /// - Throws: `collection-not-found`.
    func read(_ collection: CollectionName, of space: AppSchema) async throws -> CollectionRules {
        rights.forget(space)
        guard let known = try await rights.collections(of: space)[collection.text] else {
            throw ServiceError(.collectionNotFound)
        }
        return known.rules
    }

    /// - Throws: `collection-not-found`, the errors of `RuleExplanation`.
    func verdict(
        on test: RuleTest, _ collection: CollectionName, of space: AppSchema, _ objects: ObjectStore
    ) async throws -> RuleTest.Verdict {
        let rules = try await read(collection, of: space)
        let identity: Identity =
            if let user = test.user {
                .user(user.text, roles: try await roles(of: test, user, in: space))
            } else {
                .anonymous
            }
        let own = try await rights.rights(of: identity, in: space)
        do {
            return try await postgres.withTransaction(role: space.role) { transaction in
                let trial = try await RuleTrial(
                    test, on: collection, of: space, as: own, objects, transaction, limits: trialLimits)
                throw RolledBack(verdict: try await RuleExplanation(trial: trial, rules: rules).verdict())
            }
        } catch let end as RolledBack {
            return end.verdict
        }
    }

    private struct RolledBack: Error {
        var verdict: RuleTest.Verdict
    }

    private func roles(of test: RuleTest, _ user: UserID, in space: AppSchema) async throws -> [String] {
        if let roles = test.roles { return roles }
        return try await rights.roles(of: user, in: space)
    }

    /// The reports on a page of collections, by name.
    func reports(
        after name: String, limit: Int, of space: AppSchema
    ) async throws -> [(collection: CollectionName, report: RuleReport)] {
        rights.forget(space)
        let (known, access) = (try await rights.collections(of: space), try await rights.access(in: space))
        let page = known.sorted { $0.key < $1.key }.drop { $0.key <= name }.prefix(limit)
        return try page.map { name, collection in
            (try CollectionName(name), RuleReport(rules: collection.rules, spaceAccess: access))
        }
    }

    func access(in space: AppSchema) async throws -> SpaceAccess {
        rights.forget(space)
        return try await rights.access(in: space)
    }

    func set(_ access: SpaceAccess, in space: AppSchema) async throws {
        try await spaces.prepare(space)
        try await postgres.withTransaction { try await access.set(in: space, $0) }
        rights.forget(space)
    }

    /// Returns the rules as stored.
    ///
    /// - Throws: `invalid-body` naming the field, for rules that could never allow anything, and the errors of
    ///   `FilterCompiler` for conditions; the collection is then not created.
    func set(
        _ rules: CollectionRules, on collection: CollectionName, of space: AppSchema, by author: String
    ) async throws -> CollectionRules {
        let rules = try await checked(rules, on: collection, of: space, beside: [])
        try await collections.create(collection, of: space)
        try await postgres.withTransaction(role: space.role) { transaction in
            try await Self.store(rules, on: collection, of: space, by: author, transaction)
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
        rights.forget(space)
        return rules
    }

    /// Stores checked rules as a new version.
    static func store(
        _ rules: CollectionRules, on collection: CollectionName, of space: AppSchema, by author: String,
        _ transaction: PostgresTransaction
    ) async throws {
        let table = try space.own("_collections")
        let former = try await transaction.query(
            "SELECT rules::text FROM \(table) WHERE name = \(collection.text) FOR UPDATE"
        ).first.map { try $0.decode(0, as: String.self) }
        let encoded = PostgresJSON(rules.json.text)
        try await transaction.execute(
            """
            INSERT INTO \(table) (name, rules) VALUES (\(collection.text), \(encoded))
            ON CONFLICT (name) DO UPDATE SET rules = excluded.rules
            """)
        try await RuleVersions.append(
            encoded, replacing: former.flatMap { $0 == "{}" ? nil : PostgresJSON($0) }, of: collection, in: space,
            by: author, transaction)
    }

    /// The rules as they will be stored: completed, checked, and with the collections that their Pointers lead to.
    ///
    /// - Parameter others: Collections that exist or will be created with this one.
    func checked(
        _ rules: CollectionRules, on collection: CollectionName, of space: AppSchema, beside others: [CollectionName]
    ) async throws -> CollectionRules {
        let given = try rules.completed(for: collection)
        try given.check(in: try await ruleContext(of: given, on: collection, of: space))
        let rules = try await checkingConditions(of: given, on: collection, of: space, beside: others)
        // PostgreSQL sorts the members of `jsonb`, so return the rules as a later read will. Parsing them here also
        // refuses rules that could be stored but not read again: they would make the collection unusable.
        let row = try await spaces.query(
            "SELECT (\(PostgresJSON(rules.json.text)))::jsonb::text", in: space, on: postgres)[0]
        return try CollectionRules(JSONValue(parsing: row.decode(0, as: String.self).utf8))
    }

    private func checkingConditions(
        of rules: CollectionRules, on collection: CollectionName, of space: AppSchema, beside others: [CollectionName]
    ) async throws -> CollectionRules {
        guard rules.hasConditions else { return rules }
        rights.forget(space)
        let known = try await rights.collections(of: space)
        let resolved = try rules.resolvingPointers(of: collection, known.mapValues(\.fields))
        let new = Dictionary(others.map { ($0.text, CollectionRules.none) }) { one, _ in one }
        try resolved.checkConditions(
            in: RuleScope(
                space: space, collection: collection, collections: new.merging(known.mapValues(\.rules)) { $1 }))
        return resolved
    }

    private func ruleContext(
        of rules: CollectionRules, on collection: CollectionName, of space: AppSchema
    ) async throws -> CollectionRules.RuleContext {
        let row = try await spaces.query(
            """
            SELECT coalesce((SELECT fields::text FROM \(try space.own("_collections")) WHERE name = \(collection.text)), '{}'),
                ARRAY(SELECT name FROM \(try space.own("_roles")) WHERE name = ANY (\(rules.mentionedRoles)))
            """, in: space, on: postgres)[0]
        return CollectionRules.RuleContext(
            fields: try RightsStore.fields(row.decode(0)), roles: Set(try row.decode(1, as: [String].self)))
    }
}
