import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The rules of collections, the known fields, and who has which roles; kept in memory and dropped when a copy of the service
/// changes them.
///
/// A change is told to the other copies by a notification in its own transaction. What is remembered is dropped after `validity`
/// in any case, so that a lost connection delays a change and cannot hide it.
final class RightsStore: Sendable {
    static let channel = "martlet_storage_rights"
    static let validity: Duration = .seconds(10)
    private static let maximumRememberedUsers = 20_000

    private let postgres: PostgresClient
    private let spaces: Spaces
    private let memory = Mutex(Memory())

    init(postgres: PostgresClient, spaces: Spaces) {
        self.postgres = postgres
        self.spaces = spaces
    }

    /// What the space knows of one collection.
    struct Collection: Sendable {
        var rules: CollectionRules
        /// Field → types, as `FieldTypes` has them.
        var fields: [String: [String]]
    }

    private struct Memory {
        var collections: [AppSpace: (known: [String: Collection], until: ContinuousClock.Instant)] = [:]
        var roles: [UserKey: (roles: [String], until: ContinuousClock.Instant)] = [:]
        /// Grows with every forgetting, so that what was read before it is not remembered after it.
        var generation = 0
    }

    private struct UserKey: Hashable {
        let space: AppSpace
        let user: String
    }

    /// The rights of whoever asks: nothing is asked of the database when it is remembered.
    ///
    /// - Parameter collections: those that are asked for. One that is not known is looked for: another copy may have made it a moment ago,
    ///   or given this name to one with rules.
    func rights(of principal: Principal, in space: AppSpace, to collections: [CollectionName] = []) async throws -> Rights {
        let identity = try await identity(of: principal, in: space)
        if identity == .master { return .master }
        let rights = Rights(identity: identity, collections: try await self.collections(of: space).mapValues(\.rules))
        return try await complete(rights, with: collections, in: space)
    }

    /// The same rights, with what is to be known of `collections` now.
    func complete(_ rights: Rights, with collections: some Swift.Collection<CollectionName>, in space: AppSpace) async throws -> Rights {
        let unknown = collections.filter { !rights.knows($0) }.map(\.text)
        guard !unknown.isEmpty, try await exists(anyOf: unknown, in: space) else { return rights }
        forget(space)
        return Rights(identity: rights.identity, collections: try await load(space).mapValues(\.rules))
    }

    func collections(of space: AppSpace) async throws -> [String: Collection] {
        let now = ContinuousClock.now
        let (remembered, generation) = memory.withLock { ($0.collections[space], $0.generation) }
        if let remembered, remembered.until > now { return remembered.known }
        let known = try await load(space)
        memory.withLock { memory in
            guard memory.generation == generation else { return }
            memory.collections[space] = (known, now + Self.validity)
        }
        return known
    }

    /// Another number whenever something was forgotten: what was derived from rights is to be derived again.
    var revision: Int { memory.withLock { $0.generation } }

    func forget(_ space: AppSpace) {
        memory.withLock { memory in
            memory.generation += 1
            memory.collections[space] = nil
            memory.roles = memory.roles.filter { $0.key.space != space }
        }
    }

    func forgetAll() {
        memory.withLock { memory in
            memory.generation += 1
            memory.collections = [:]
            memory.roles = [:]
        }
    }

    private func identity(of principal: Principal, in space: AppSpace) async throws -> Identity {
        guard let text = principal.userID else { return principal.kind == .master ? .master : .anonymous }
        guard let user = UserID(text) else { throw HTTPProblem(.unauthorized) }
        return .user(user.text, roles: try await roles(of: user, in: space))
    }

    /// Every role the user has, also through other roles, by name.
    func roles(of user: UserID, in space: AppSpace) async throws -> [String] {
        let key = UserKey(space: space, user: user.text)
        let now = ContinuousClock.now
        let (remembered, generation) = memory.withLock { ($0.roles[key], $0.generation) }
        if let remembered, remembered.until > now { return remembered.roles }
        let roles = try await loadRoles(of: user, in: space)
        memory.withLock { memory in
            guard memory.generation == generation else { return }
            if memory.roles.count >= Self.maximumRememberedUsers { memory.roles = [:] }
            memory.roles[key] = (roles, now + Self.validity)
        }
        return roles
    }

    private func exists(anyOf names: [String], in space: AppSpace) async throws -> Bool {
        let found = try await spaces.query(
            "SELECT FROM \(try space.own("_collections")) WHERE name = ANY (\(names)) LIMIT 1", in: space, on: postgres)
        return !found.isEmpty
    }

    private func load(_ space: AppSpace) async throws -> [String: Collection] {
        try await spaces.prepare(space)
        var query: PostgresQuery = "SELECT name, rules::text, fields::text FROM \(try space.own("_collections"))"
        query.role = space.role
        var known: [String: Collection] = [:]
        for row in try await postgres.query(query) {
            let rules = try JSONDecoder().decode(CollectionRules.self, from: Data(try row.decode(1, as: String.self).utf8))
            let fields = try JSONDecoder().decode([String: [String]].self, from: Data(try row.decode(2, as: String.self).utf8))
            known[try row.decode(0)] = Collection(rules: rules, fields: fields)
        }
        return known
    }

    /// One query, however deep roles are nested.
    private func loadRoles(of user: UserID, in space: AppSpace) async throws -> [String] {
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
    private static let maximumUsersAtOnce = 500

    /// Remembers the roles of many for longer than `time`, so that `rights(of:in:)` need not ask for each.
    func prepare(_ users: [String], in space: AppSpace, for time: Duration) async throws {
        let now = ContinuousClock.now
        let (unknown, generation) = memory.withLock { memory in
            let unknown = Set(users).filter { (memory.roles[UserKey(space: space, user: $0)]?.until ?? now) <= now + time }
            return (Array(unknown), memory.generation)
        }
        for start in stride(from: 0, to: unknown.count, by: Self.maximumUsersAtOnce) {
            let some = Array(unknown[start..<min(start + Self.maximumUsersAtOnce, unknown.count)])
            let roles = try await loadRoles(of: some, in: space)
            memory.withLock { memory in
                guard memory.generation == generation else { return }
                if memory.roles.count + some.count > Self.maximumRememberedUsers { memory.roles = [:] }
                for user in some { memory.roles[UserKey(space: space, user: user)] = (roles[user] ?? [], now + Self.validity) }
            }
        }
    }

    private func loadRoles(of users: [String], in space: AppSpace) async throws -> [String: [String]] {
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
        return Dictionary(uniqueKeysWithValues: try await postgres.query(query).map { (try $0.decode(0), try $0.decode(1)) })
    }

    /// Adds to what is known of a collection's fields.
    func learn(_ fields: [String: Set<String>], _ scope: QueryScope) async throws {
        let encoded = PostgresJSON(Array(try JSONEncoder().encode(fields)))
        var query: PostgresQuery = """
            UPDATE \(try scope.space.own("_collections")) SET fields = storage.merge_fields(fields, \(encoded))
            WHERE name = \(scope.collection.text)
            """
        query.role = scope.space.role
        try await postgres.execute(query)
        forget(scope.space)
    }
}

/// Drops what this copy remembers when another has changed it.
struct RightsWatch: Service {
    let rights: RightsStore
    let postgres: PostgresClient

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await notification in postgres.listen(RightsStore.channel) {
                // A space's name would do, but changes of rules are rare and a missed one is a hole.
                _ = notification
                rights.forgetAll()
            }
        }
    }
}
