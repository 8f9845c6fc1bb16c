import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The rules and known fields of collections, and the roles of users. Cached in memory and invalidated when any copy of
/// the service changes them.
///
/// A change notifies the other copies in its own transaction. Cache entries expire after `validity` in any case, so a
/// lost connection delays changes but cannot hide them.
final class RightsStore: Sendable {
    static let channel = "martlet_storage_rights"
    static let validity: Duration = .seconds(10)
    private static let maximumRememberedUsers = 20_000

    private let postgres: PostgresClient
    private let spaces: Spaces
    private let logger: Logger
    private let memory = Mutex(Memory())
    private let schemas = SchemaCache()

    init(
        postgres: PostgresClient, spaces: Spaces,
        logger: Logger = Logger(label: "storage") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.logger = logger
        self.postgres = postgres
        self.spaces = spaces
    }

    /// What the cache contains about a collection.
    struct Collection: Sendable {
        var rules: CollectionRules
        /// Field → types, as in `FieldTypes`.
        var fields: [FieldName: [String]]
        /// The top-level fields of each unique index, including indexes being built.
        var unique: [Set<FieldName>] = []
        /// The fields of each ordered index that is ready and contains every object, including removed ones (which
        /// excludes unique indexes), with `-` in front for descending order.
        var ordered: [[String]] = []
        /// What objects must fit; nil for anything.
        var schema: CollectionSchema?
    }

    /// What the cache contains about a space.
    private struct Known: Sendable {
        var collections: [String: Collection] = [:]
        var access = SpaceAccess.closed
        /// Whether the environment is closed to clients (`_closed`).
        var isClosed = false

        /// The rules of these collections, which every request needs.
        var rules: [String: CollectionRules] = [:]
    }

    private struct Memory {
        var spaces: [AppSchema: (known: Known, until: ContinuousClock.Instant)] = [:]
        var roles: [UserKey: (roles: [String], until: ContinuousClock.Instant)] = [:]
        /// Increases with every invalidation, so that values read before one are not cached after it.
        var generation = 0
        var confirmations = Confirmations<AppSchema>()
    }

    private struct UserKey: Hashable {
        let space: AppSchema
        let user: String
    }

    /// The caller's rights. Does not query the database if they are cached.
    ///
    /// - Parameters:
    ///   - collections: The requested collections. Unknown ones are looked up, because another copy may just have
    ///     created one, or given this name to a collection with rules.
    ///   - evenIfClosed: For work in a client's name that is not for the client. Rights are then returned even if the
    ///     environment is closed to clients, but `Access.require` refuses every operation.
    /// - Throws: `forbidden` for a client if the environment is closed to clients.
    func rights(
        of principal: Principal, in space: AppSchema, to collections: [CollectionName] = [], evenIfClosed: Bool = false
    ) async throws -> Rights {
        let moment = Moment(revision: revision, time: .now)
        let identity = try await identity(of: principal, in: space)
        if identity == .master { return .master }
        var rights = try await rights(of: identity, in: space)
        rights.moment = moment
        guard evenIfClosed || !rights.isClosed else { throw Access.closed }
        return try await complete(rights, with: collections, in: space)
    }

    /// The caller's rights for operations on collections. If the cached rights refuse one of the operations, they are
    /// compared with those in the database, because another copy may just have allowed it. The cache is invalidated
    /// only if they differ.
    ///
    /// - Throws: `forbidden` for a client if the environment is closed to clients.
    func rights(
        of principal: Principal, in space: AppSchema, for needs: [CollectionName: Set<Access.Operation>]
    ) async throws -> Rights {
        let collections = Array(needs.keys)
        func read() async throws -> Rights {
            let rights = try await self.rights(of: principal, in: space, evenIfClosed: true)
            // Refusing in a closed environment takes no query.
            return rights.isClosed ? rights : try await complete(rights, with: collections, in: space)
        }
        var rights = try await read()
        if rights.identity == .master { return rights }
        let isRefused =
            rights.isClosed
            || needs.contains { name, operations in operations.contains(where: rights.access(to: name).refuses) }
        if isRefused, mayConfirm(in: space), try await isOutdated(rights, for: collections, in: space) {
            forget(space)
            rights = try await read()
        }
        guard !rights.isClosed else { throw Access.closed }
        return rights
    }

    /// Whether the database may be queried before a refusal by cached values.
    func mayConfirm(in space: AppSchema) -> Bool { memory.withLock { $0.confirmations.take(for: space) } }

    /// The caller's rights if the database has others than these. Nil if not, or if it may not be queried now.
    func newer(than rights: Rights, of principal: Principal, in space: AppSchema) async throws -> Rights? {
        guard rights.identity != .master, mayConfirm(in: space), try await isOutdated(rights, for: [], in: space) else {
            return nil
        }
        forget(space)
        return try await self.rights(of: principal, in: space)
    }

    /// Whether the database has other rights of this identity to the collections. Does not change the cache.
    private func isOutdated(
        _ rights: Rights, for collections: [CollectionName], in space: AppSchema
    ) async throws -> Bool {
        let stored = try await postgres.query("SELECT access FROM storage.spaces WHERE schema = \(space.schema)")
        let access = SpaceAccess(stored: try stored.first?.decode(0, as: String?.self), in: space.environment)
        guard access == rights.spaceAccess else { return true }
        if case .user(let id, let roles) = rights.identity, let user = UserID(id) {
            guard try await loadRoles(of: user, in: space) == roles else { return true }
        }
        let rows = try await spaces.query(
            """
            SELECT state.is_closed, c.name, c.rules::text
            FROM (SELECT EXISTS (SELECT FROM \(try space.own("_closed"))) AS is_closed) AS state
            LEFT JOIN \(try space.own("_collections")) AS c ON c.name = ANY (\(collections.map(\.text)))
            """, in: space, on: postgres)
        var current: [String: CollectionRules] = [:]
        for row in rows {
            guard try row.decode(0, as: Bool.self) == rights.isClosed else { return true }
            guard let name = try row.decode(1, as: String?.self) else { continue }
            current[name] = rules(try row.decode(2), of: name, space)
        }
        return collections.contains { current[$0.text] != rights.rules(of: $0) }
    }

    /// A collection as another copy has just changed it; nil if its rules and its schema are those that are known.
    ///
    /// - Parameter known: What the cache contained about the collection.
    func changed(_ collection: CollectionName, since known: Collection?, in space: AppSchema) async throws
        -> Collection?
    {
        guard mayConfirm(in: space) else { return nil }
        let rows = try await spaces.query(
            """
            SELECT rules::text, schema_revision FROM \(try space.own("_collections")) WHERE name = \(collection.text)
            """, in: space, on: postgres)
        guard let row = rows.first else { return nil }
        let stored = rules(try row.decode(0), of: collection.text, space)
        let revision = try row.decode(1, as: Int?.self)
        guard stored != known?.rules || revision != known?.schema?.revision else { return nil }
        forget(space)
        return try await collections(of: space)[collection.text]
    }

    /// The rights of an identity other than the master key, even if the environment is closed to clients.
    func rights(of identity: Identity, in space: AppSchema) async throws -> Rights {
        Self.rights(of: identity, in: space, try await known(of: space))
    }

    private static func rights(of identity: Identity, in space: AppSchema, _ known: Known) -> Rights {
        Rights(
            identity: identity, in: space, collections: known.rules, spaceAccess: known.access,
            isClosed: known.isClosed)
    }

    /// The same rights, after loading the rules of `collections` that they lack.
    func complete(_ rights: Rights, with collections: some Swift.Collection<CollectionName>, in space: AppSchema)
        async throws -> Rights
    {
        let unknown = collections.filter { !rights.knows($0) }.map(\.text)
        guard !unknown.isEmpty, try await exists(anyOf: unknown, in: space) else { return rights }
        forget(space)
        return rights.with(try await load(space).rules)
    }

    /// The collection that a request names first, with the caller's rights. Nil if the database must be queried first:
    /// something is not cached, or a refusal has to be confirmed.
    func cachedScope(of direct: DirectRequest, for operation: Access.Operation) -> QueryScope? {
        guard let collection = try? CollectionName(direct.parameters[0]),
            let space = try? AppSchema(direct.principal),
            let rights = cachedRights(of: direct.principal, in: space), rights.knows(collection), !rights.isClosed,
            !rights.access(to: collection).refuses(operation)
        else { return nil }
        return QueryScope(space: space, collection: collection, rights: rights)
    }

    private func cachedRights(of principal: Principal, in space: AppSchema) -> Rights? {
        guard let identity = cachedIdentity(of: principal, in: space) else { return nil }
        if identity == .master { return .master }
        return cached(space).map { Self.rights(of: identity, in: space, $0) }
    }

    /// Nil if they are not cached.
    func cachedCollections(of space: AppSchema) -> [String: Collection]? { cached(space)?.collections }

    func collections(of space: AppSchema) async throws -> [String: Collection] {
        try await known(of: space).collections
    }

    func access(in space: AppSchema) async throws -> SpaceAccess { try await known(of: space).access }

    private func known(of space: AppSchema) async throws -> Known {
        if let known = cached(space) { return known }
        let (generation, now) = (revision, ContinuousClock.now)
        let known = try await load(space)
        memory.withLock { memory in
            guard memory.generation == generation else { return }
            memory.spaces[space] = (known, now + Self.validity)
        }
        return known
    }

    /// Nil unless it is cached and still valid.
    private func cached(_ space: AppSchema) -> Known? {
        guard let remembered = memory.withLock({ $0.spaces[space] }), remembered.until > .now else { return nil }
        return remembered.known
    }

    /// Changes with every invalidation. Values derived from rights must then be derived again.
    var revision: Int { memory.withLock { $0.generation } }

    /// A point in time at which rights were read.
    struct Moment: Sendable {
        var revision: Int
        var time: ContinuousClock.Instant
    }

    /// How long rights that were read may be used for the rest of a request. Much shorter than `validity`, because the
    /// two add up if a notification is lost.
    static let freshness: Duration = .seconds(1)

    /// Whether a request may still use these rights. If not, they must be read again. Does not query the database.
    func isCurrent(_ rights: Rights) -> Bool {
        // The master key has all rights, whatever changes.
        if rights.identity == .master { return true }
        guard let moment = rights.moment else { return false }
        return moment.revision == revision && ContinuousClock.now < moment.time + Self.freshness
    }

    func forget(_ space: AppSchema) {
        memory.withLock { memory in
            memory.generation += 1
            memory.spaces[space] = nil
            memory.roles = memory.roles.filter { $0.key.space != space }
        }
    }

    func forgetAll() {
        memory.withLock { memory in
            memory.generation += 1
            memory.spaces = [:]
            memory.roles = [:]
        }
    }

    private func identity(of principal: Principal, in space: AppSchema) async throws -> Identity {
        if let identity = cachedIdentity(of: principal, in: space) { return identity }
        guard let user = principal.userID.flatMap(UserID.init) else { throw ServiceError(.unauthorized) }
        return .user(user.text, roles: try await roles(of: user, in: space))
    }

    /// Nil if the roles of the user are not cached, or the id is invalid.
    private func cachedIdentity(of principal: Principal, in space: AppSchema) -> Identity? {
        guard let text = principal.userID else { return principal.hasServerRights ? .master : .anonymous }
        guard let user = UserID(text), let roles = cachedRoles(of: user, in: space) else { return nil }
        return .user(user.text, roles: roles)
    }

    /// Every role of the user, direct or inherited from other roles, by name.
    func roles(of user: UserID, in space: AppSchema) async throws -> [String] {
        if let roles = cachedRoles(of: user, in: space) { return roles }
        let (generation, now) = (revision, ContinuousClock.now)
        let roles = try await loadRoles(of: user, in: space)
        memory.withLock { memory in
            guard memory.generation == generation else { return }
            if memory.roles.count >= Self.maximumRememberedUsers { memory.roles = [:] }
            memory.roles[UserKey(space: space, user: user.text)] = (roles, now + Self.validity)
        }
        return roles
    }

    /// Nil unless they are cached and still valid.
    private func cachedRoles(of user: UserID, in space: AppSchema) -> [String]? {
        let key = UserKey(space: space, user: user.text)
        guard let remembered = memory.withLock({ $0.roles[key] }), remembered.until > .now else { return nil }
        return remembered.roles
    }

    private func exists(anyOf names: [String], in space: AppSchema) async throws -> Bool {
        let found = try await spaces.query(
            "SELECT FROM \(try space.own("_collections")) WHERE name = ANY (\(names)) LIMIT 1", in: space, on: postgres)
        return !found.isEmpty
    }

    /// The rules as stored. Rules that this version cannot read close only their own collection.
    private func rules(_ text: String, of collection: String, _ space: AppSchema) -> CollectionRules {
        do {
            return try CollectionRules(JSONValue(parsing: text.utf8))
        } catch {
            logger.error(
                "Could not read the rules of a collection; the collection is closed to clients.",
                metadata: [
                    "storage.schema": "\(space.schema)", "storage.collection": "\(collection)",
                    "error.cause": "\(error)",
                ])
            return .closed
        }
    }

    private func load(_ space: AppSchema) async throws -> Known {
        try await spaces.prepare(space)
        // PostgreSQL enforces uniqueness long before the index is ready. Builds are read first, so that one that
        // becomes ready in between is not missed.
        let builds = try await postgres.query(
            """
            SELECT s.access, b.collection, b.definition::text FROM storage.spaces AS s
            LEFT JOIN (storage.index_builds AS b JOIN storage.jobs AS j ON j.id = b.job AND j.finished IS NULL)
                ON b.schema = s.schema AND (b.definition->>'unique')::boolean
            WHERE s.schema = \(space.schema)
            """)
        // Always returns at least one row, because an environment without collections may be closed, too.
        var query: PostgresQuery = """
            SELECT state.is_closed, c.name, c.rules::text, c.fields::text, ARRAY(
                SELECT obj_description(x.indexrelid, 'pg_class') FROM pg_index AS x JOIN pg_class AS t ON t.oid = x.indrelid
                WHERE t.relname = c.name AND t.relnamespace = to_regnamespace(quote_ident(\(space.schema))) AND x.indisvalid
                    AND obj_description(x.indexrelid, 'pg_class') IS NOT NULL), c.schema_revision
            FROM (SELECT EXISTS (SELECT FROM \(try space.own("_closed"))) AS is_closed) AS state
            LEFT JOIN \(try space.own("_collections")) AS c ON TRUE
            """
        query.role = space.role
        var known = Known()
        known.access = SpaceAccess(
            stored: try builds.first?.decode(0, as: String?.self), in: space.environment)
        var revisions: [String: Int] = [:]
        for row in try await postgres.query(query) {
            known.isClosed = try row.decode(0)
            guard let name = try row.decode(1, as: String?.self) else { continue }
            let indexes = try row.decode(4, as: [String].self).map(Self.index)
            known.collections[name] = Collection(
                rules: rules(try row.decode(2), of: name, space),
                fields: try Self.fields(row.decode(3)),
                unique: indexes.filter(\.unique).map(Self.indexed),
                ordered: indexes.filter { $0.kind == .ordered && !$0.unique }.map(\.fields))
            revisions[name] = try row.decode(5, as: Int?.self)
        }
        known.rules = known.collections.mapValues(\.rules)
        let compiled = try await schemas.schemas(Set(revisions.values), of: space, on: postgres)
        for (name, revision) in revisions { known.collections[name]?.schema = compiled[revision] }
        for row in builds {
            guard let collection = try row.decode(1, as: String?.self) else { continue }
            known.collections[collection]?.unique.append(Self.indexed(try Self.index(row.decode(2))))
        }
        return known
    }

    /// The collections of a space, with the current types of the fields to include: another copy may just have stored
    /// the first pointer in one of them.
    func collections(
        of space: AppSchema, including include: Include, from collection: CollectionName
    ) async throws -> [String: Collection] {
        var known = try await collections(of: space)
        var read: Set<CollectionName> = []
        // A collection found in one round may have a field to include in the next.
        while true {
            let unresolved = include.unresolved(from: collection, in: known).subtracting(read)
            guard !unresolved.isEmpty else { return known }
            for (name, fields) in try await storedFields(of: unresolved, in: space) {
                known[name, default: Collection(rules: .closed, fields: [:])].fields = fields
            }
            read.formUnion(unresolved)
        }
    }

    /// The current fields of collections, bypassing the cache.
    func storedFields(
        of collections: Set<CollectionName>, in space: AppSchema
    ) async throws -> [String: [FieldName: [String]]] {
        let rows = try await spaces.query(
            "SELECT name, fields::text FROM \(try space.own("_collections")) WHERE name = ANY (\(collections.map(\.text)))",
            in: space, on: postgres)
        return Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.decode(0, as: String.self), try Self.fields($0.decode(1))) })
    }

    /// Parses `{"name":["String"],…}`, comparing fields by their bytes.
    static func fields(_ text: String) throws -> [FieldName: [String]] {
        guard case .object(let members) = try JSONValue(parsing: text.utf8) else { return [:] }
        return members.reduce(into: [:]) { fields, member in
            guard case .array(let types) = member.value else { return }
            fields[FieldName(member.name)] = types.compactMap { if case .string(let type) = $0 { type } else { nil } }
        }
    }

    private static func index(_ definition: String) throws -> IndexDefinition {
        try JSONDecoder().decode(IndexDefinition.self, from: Data(definition.utf8))
    }

    /// The top-level fields of an index.
    private static func indexed(_ index: IndexDefinition) -> Set<FieldName> {
        Set(index.fields.map { FieldName(topOf: $0.begins(with: "-") ? String($0.dropFirst()) : $0) })
    }

    /// As `roles`, bypassing the cache. A single query, however deeply roles are nested.
    func loadRoles(of user: UserID, in space: AppSchema) async throws -> [String] {
        try await spaces.prepare(space)
        let members = try space.own("_role_members")
        var query: PostgresQuery = """
            WITH RECURSIVE held (role) AS (
                SELECT role FROM \(members) WHERE member = \(user.text)
                UNION
                SELECT m.role FROM held JOIN \(members) AS m ON m.member = 'role:' || held.role)
            SELECT role FROM held ORDER BY role LIMIT \(Self.maximumRolesOfUser)
            """
        query.role = space.role
        return try await postgres.query(query).map { try $0.decode(0) }
    }

    static let maximumRolesOfUser = 1_000
    private static let maximumUsersPerQuery = 500

    /// Caches the roles of many users for longer than `time`, so that `rights(of:in:)` need not query each.
    func prepare(_ users: [String], in space: AppSchema, for time: Duration) async throws {
        let now = ContinuousClock.now
        let (unknown, generation) = memory.withLock { memory in
            let unknown = Set(users).filter {
                (memory.roles[UserKey(space: space, user: $0)]?.until ?? now) <= now + time
            }
            return (Array(unknown), memory.generation)
        }
        for start in stride(from: 0, to: unknown.count, by: Self.maximumUsersPerQuery) {
            let some = Array(unknown[start..<min(start + Self.maximumUsersPerQuery, unknown.count)])
            let roles = try await loadRoles(of: some, in: space)
            memory.withLock { memory in
                guard memory.generation == generation else { return }
                if memory.roles.count + some.count > Self.maximumRememberedUsers { memory.roles = [:] }
                for user in some {
                    memory.roles[UserKey(space: space, user: user)] = (roles[user] ?? [], now + Self.validity)
                }
            }
        }
    }

    private func loadRoles(of users: [String], in space: AppSchema) async throws -> [String: [String]] {
        try await spaces.prepare(space)
        let members = try space.own("_role_members")
        var query: PostgresQuery = """
            WITH RECURSIVE held (id, role) AS (
                SELECT member, role FROM \(members) WHERE member = ANY (\(users))
                UNION
                SELECT held.id, m.role FROM held JOIN \(members) AS m ON m.member = 'role:' || held.role)
            SELECT id, (array_agg(role ORDER BY role))[1:\(Self.maximumRolesOfUser)] FROM held GROUP BY id
            """
        query.role = space.role
        return Dictionary(
            uniqueKeysWithValues: try await postgres.query(query).map { (try $0.decode(0), try $0.decode(1)) })
    }

    /// Adds fields and types to those known of a collection.
    func registerFields(_ fields: [FieldName: Set<String>], _ scope: QueryScope) async throws {
        let members = fields.map { JSONValue.Member($0.key.text, .array($0.value.sorted().map { .string($0) })) }
        let encoded = PostgresJSON(JSONValue.object(members).text)
        var query: PostgresQuery = """
            UPDATE \(try scope.space.own("_collections")) SET fields = storage.merge_fields(fields, \(encoded))
            WHERE name = \(scope.collection.text)
            """
        query.role = scope.space.role
        try await postgres.execute(query)
        forget(scope.space)
    }
}

/// Invalidates this copy's cache after changes by other copies.
struct RightsWatch: Service {
    let rights: RightsStore
    let postgres: PostgresClient

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await notification in postgres.listen(RightsStore.channel) {
                // Invalidating a single space would be enough. But changes of rules are rare, and missing one would be
                // a security hole.
                _ = notification
                rights.forgetAll()
            }
        }
    }
}
