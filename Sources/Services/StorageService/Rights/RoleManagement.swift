import MartletAPI
import MartletCore
import MartletPostgres

/// What managers of roles may do, as conditions on the stored members and managers. None of it is cached.
struct RoleManagement: Sendable {
    static let maximumManagers = 100
    /// The limits of changes by users. The app's server may exceed them.
    static let maximumMembers = 100_000
    static let maximumRolesOfUser = 500

    /// For callers who do not manage the role, whether it exists or not.
    static let refusal = ServiceError(.forbidden, "Only managers of the role and the app's server may do this.")

    let space: AppSchema

    /// The condition that a user manages a role: by id, or through one of their roles, including inherited ones.
    func manages(_ user: PostgresQuery, _ role: PostgresQuery) throws -> PostgresQuery {
        let members = try space.own("_role_members")
        return """
            EXISTS (
                WITH RECURSIVE held (name) AS (
                    SELECT m.role FROM \(members) AS m WHERE m.member = \(user)
                    UNION
                    SELECT m.role FROM held JOIN \(members) AS m ON m.member = 'role:' || held.name)
                SELECT FROM \(try space.own("_role_managers")) AS g WHERE g.role = \(role)
                    AND (g.manager = \(user) OR g.manager IN (SELECT 'role:' || held.name FROM held)))
            """
    }

    /// Locks the role, so that changes of its members are serialized, and checks that the caller manages it.
    ///
    /// - Throws: `role-not-found` for the app's server, `forbidden` for everyone else.
    func lock(_ role: String, for caller: Identity, _ transaction: PostgresTransaction) async throws {
        let found = try await transaction.query(
            "SELECT FROM \(try space.own("_roles")) WHERE name = \(role) FOR NO KEY UPDATE")
        if caller == .master, found.isEmpty { throw ServiceError(.roleNotFound) }
        try await require(caller, manages: [role], transaction)
    }

    /// - Throws: `forbidden` unless the caller manages all of these roles.
    func require(_ caller: Identity, manages roles: [String], _ transaction: PostgresTransaction) async throws {
        guard caller != .master else { return }
        guard let user = caller.userID else { throw Self.refusal }
        let rows = try await transaction.query(
            "SELECT FROM unnest(\(roles)) AS r (role) WHERE NOT \(try manages("\(user)", "r.role")) LIMIT 1")
        guard rows.isEmpty else { throw Self.refusal }
    }

    /// Checks the limits that apply when a user adds members. The role must be locked.
    ///
    /// - Throws: `limit-exceeded`.
    func checkLimits(adding added: [String], to role: String, _ transaction: PostgresTransaction) async throws {
        guard !added.isEmpty else { return }
        let members = try space.own("_role_members")
        let row = try await transaction.query(
            """
            WITH fresh AS (
                SELECT DISTINCT name FROM unnest(\(added)) AS name
                WHERE NOT EXISTS (SELECT FROM \(members) WHERE role = \(role) AND member = name))
            SELECT (SELECT count(*) FROM \(members) WHERE role = \(role)) + (SELECT count(*) FROM fresh),
                (SELECT coalesce(max((SELECT count(*) FROM \(members) WHERE member = name)), 0) FROM fresh)
            """)[0]
        guard try row.decode(0, as: Int.self) <= Self.maximumMembers else {
            throw ServiceError(.limitExceeded, "A role may have at most \(Self.maximumMembers) members.")
        }
        guard try row.decode(1, as: Int.self) < Self.maximumRolesOfUser else {
            throw ServiceError(.limitExceeded, "A user may have at most \(Self.maximumRolesOfUser) roles.")
        }
    }
}

extension RightsStore {
    /// The caller of a call about a role.
    ///
    /// - Throws: `invalid-token` without a signed-in user or master key; `forbidden` in a closed environment.
    func callerOfRole(_ principal: Principal, in space: AppSchema) async throws -> Identity {
        let identity = try await rights(of: principal, in: space).identity
        guard identity != .anonymous else {
            throw ServiceError(.invalidToken, "Send an access token: Authorization: Bearer ….")
        }
        return identity
    }
}
