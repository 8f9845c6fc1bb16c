import MartletAPI
import MartletCore
import MartletPostgres

/// An app's roles and their members.
struct RoleStore: Sendable {
    static let maximumRoles = 10_000

    let postgres: PostgresClient
    let spaces: Spaces
    let rights: RightsStore

    struct Summary: Codable, Sendable {
        var name: String
        var members: Int
    }

    struct Role: Codable, Sendable {
        var name: String
        var members: [String]
    }

    struct Change: Sendable {
        static let maximumMembers = 1_000

        var add: [String]
        var remove: [String]

        /// - Throws: `invalid-body`, `limit-exceeded`, naming the field.
        static func checked(_ members: [String], _ field: String) throws -> [String] {
            guard members.count <= maximumMembers else {
                throw ServiceError(
                    .limitExceeded, "At most \(maximumMembers) members may be changed at a time.", field: field)
            }
            guard members.allSatisfy(Grantee.isUserOrRole) else {
                throw ServiceError(.invalidBody, "A member must be a user's id or \"role:<name>\".", field: field)
            }
            return members
        }
    }

    func list(_ page: RolePage, of space: AppSchema) async throws -> [Summary] {
        let (roles, members) = (try space.own("_roles"), try space.own("_role_members"))
        let rows = try await run(
            """
            SELECT name, (SELECT count(*) FROM \(members) WHERE role = name) FROM \(roles)
            WHERE name > \(page.after) ORDER BY name LIMIT \(page.limit)
            """, in: space)
        return try rows.map { Summary(name: try $0.decode(0), members: try $0.decode(1)) }
    }

    /// Nil if there is no such role.
    func find(_ name: String, _ page: RolePage, of space: AppSchema) async throws -> Role? {
        let (roles, members) = (try space.own("_roles"), try space.own("_role_members"))
        let rows = try await run(
            """
            SELECT ARRAY(SELECT member FROM \(members) WHERE role = name AND member > \(page.after) ORDER BY member LIMIT \(page.limit))
            FROM \(roles) WHERE name = \(name)
            """, in: space)
        return try rows.first.map { Role(name: name, members: try $0.decode(0)) }
    }

    /// - Throws: `limit-exceeded` beyond `maximumRoles`.
    func change(_ name: String, by change: Change, of space: AppSchema) async throws {
        let (roles, members) = (try space.own("_roles"), try space.own("_role_members"))
        try await spaces.prepare(space)
        try await postgres.withTransaction(role: space.role) { transaction in
            let known = try await transaction.query(
                "SELECT count(*), count(*) FILTER (WHERE name = \(name)) FROM \(roles)")
            let isKnown = try known[0].decode(1, as: Int.self) == 1
            guard try isKnown || known[0].decode(0, as: Int.self) < Self.maximumRoles else {
                throw ServiceError(.limitExceeded, "An app may have at most \(Self.maximumRoles) roles.")
            }
            try await transaction.execute("INSERT INTO \(roles) (name) VALUES (\(name)) ON CONFLICT DO NOTHING")
            try await transaction.execute(
                """
                INSERT INTO \(members) (role, member) SELECT \(name), member FROM unnest(\(change.add)) AS member ON CONFLICT DO NOTHING
                """)
            try await transaction.execute(
                "DELETE FROM \(members) WHERE role = \(name) AND member = ANY (\(change.remove))")
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
        rights.forget(space)
    }

    /// Returns false if there was no such role.
    func delete(_ name: String, of space: AppSchema) async throws -> Bool {
        let (roles, members) = (try space.own("_roles"), try space.own("_role_members"))
        try await spaces.prepare(space)
        let deleted = try await postgres.withTransaction(role: space.role) { transaction in
            try await transaction.execute("DELETE FROM \(members) WHERE member = \("role:" + name)")
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
            return try await transaction.execute("DELETE FROM \(roles) WHERE name = \(name)")
        }
        rights.forget(space)
        return deleted > 0
    }

    private func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows {
        try await spaces.query(statement, in: space, on: postgres)
    }
}
