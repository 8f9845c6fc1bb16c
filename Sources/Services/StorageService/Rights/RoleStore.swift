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
        var managers: [String]
    }

    struct Change: Sendable {
        static let maximumMembers = 1_000

        var add: [String]
        var remove: [String]
        /// The new managers; nil leaves them unchanged.
        var managers: [String]?

        /// The roles whose members would have the role, too.
        var nested: [String] { add.filter { $0.hasPrefix("role:") }.map { String($0.dropFirst(5)) } }

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
    ///
    /// - Throws: `forbidden` for a user who does not manage the role.
    func find(_ name: String, _ page: RolePage, for caller: Identity, of space: AppSchema) async throws -> Role? {
        let (roles, members, managers) = (
            try space.own("_roles"), try space.own("_role_members"), try space.own("_role_managers")
        )
        let management = RoleManagement(space: space)
        let mayRead: PostgresQuery =
            try caller == .master ? "TRUE" : caller.userID.map { try management.manages("\($0)", "name") } ?? "FALSE"
        let rows = try await run(
            """
            SELECT ARRAY(SELECT member FROM \(members) WHERE role = name AND member > \(page.after) ORDER BY member LIMIT \(page.limit)),
                ARRAY(SELECT manager FROM \(managers) WHERE role = name ORDER BY manager)
            FROM \(roles) WHERE name = \(name) AND \(mayRead)
            """, in: space)
        guard !rows.isEmpty || caller == .master else { throw RoleManagement.refusal }
        return try rows.first.map { Role(name: name, members: try $0.decode(0), managers: try $0.decode(1)) }
    }

    /// Creates the role if it is missing and the caller is the app's server.
    ///
    /// - Throws: `limit-exceeded` beyond `maximumRoles`, and for users beyond those of `RoleManagement`; `forbidden`
    ///   for a user who does not manage the role, or a role to be nested in it.
    func change(_ name: String, by change: Change, as caller: Identity = .master, of space: AppSchema) async throws {
        let (members, managers) = (try space.own("_role_members"), try space.own("_role_managers"))
        let management = RoleManagement(space: space)
        try await spaces.prepare(space)
        try await postgres.withTransaction(role: space.role) { transaction in
            if caller == .master { try await create(name, of: space, transaction) }
            try await management.lock(name, for: caller, transaction)
            if caller != .master {
                guard change.managers == nil else { throw RoleManagement.refusal }
                try await management.require(caller, manages: change.nested, transaction)
                try await management.checkLimits(adding: change.add, to: name, transaction)
            }
            try await transaction.execute(
                """
                INSERT INTO \(members) (role, member) SELECT \(name), member FROM unnest(\(change.add)) AS member ON CONFLICT DO NOTHING
                """)
            try await transaction.execute(
                "DELETE FROM \(members) WHERE role = \(name) AND member = ANY (\(change.remove))")
            if let new = change.managers {
                try await transaction.execute(
                    "DELETE FROM \(managers) WHERE role = \(name) AND manager <> ALL (\(new))")
                try await transaction.execute(
                    "INSERT INTO \(managers) (role, manager) SELECT \(name), m FROM unnest(\(new)) AS m ON CONFLICT DO NOTHING"
                )
            }
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
        }
        rights.forget(space)
    }

    private func create(_ name: String, of space: AppSchema, _ transaction: PostgresTransaction) async throws {
        let roles = try space.own("_roles")
        let known = try await transaction.query(
            "SELECT count(*), count(*) FILTER (WHERE name = \(name)) FROM \(roles)")
        let isKnown = try known[0].decode(1, as: Int.self) == 1
        guard try isKnown || known[0].decode(0, as: Int.self) < Self.maximumRoles else {
            throw ServiceError(.limitExceeded, "An app may have at most \(Self.maximumRoles) roles.")
        }
        try await transaction.execute("INSERT INTO \(roles) (name) VALUES (\(name)) ON CONFLICT DO NOTHING")
    }

    /// Removes a user from the role. Waits for other changes of the role that are in progress.
    func leave(_ name: String, _ user: String, of space: AppSchema) async throws {
        try await spaces.prepare(space)
        try await postgres.withTransaction(role: space.role) { transaction in
            try await transaction.execute(
                "SELECT FROM \(try space.own("_roles")) WHERE name = \(name) FOR NO KEY UPDATE")
            try await transaction.execute(
                "DELETE FROM \(try space.own("_role_members")) WHERE role = \(name) AND member = \(user)")
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
