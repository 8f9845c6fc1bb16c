import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Invitations to roles. Everything that changes the members of a role locks its row first, so a code is not used more
/// often than allowed, and a user who is added and removed concurrently ends up in one of the two states.
struct RoleInvitationStore: Sendable {
    static let maximumOpen = 100
    static let maximumUses = 1_000
    static let maximumDays = 30
    static let maximumGuesses = 10
    private static let guessPeriodInSeconds = 600

    let postgres: PostgresClient
    let spaces: Spaces
    let rights: RightsStore

    struct Invitation: Codable, Sendable {
        var id: String
        var role: String
        /// Only in the answer to its creation.
        var code: String?
        /// The address to which the code was mailed.
        var email: String?
        /// Nil for the app's server.
        var inviter: String?
        var uses: Int
        var usesLeft: Int
        var expires: String
        var created: String
    }

    enum JoinOutcome: Sendable {
        case joined(role: String)
        /// The code is unknown, used, expired or revoked, or its inviter no longer manages the role.
        case refused
        case tooManyGuesses
    }

    private static let columns: PostgresQuery = """
        id, role, inviter, uses, uses_left, \(PostgresQuery.rfc3339("expires")), \(PostgresQuery.rfc3339("created")),
        email
        """

    /// Whether a code can still be used, if its inviter still manages the role.
    private static let isOpen: PostgresQuery = "(uses_left > 0 AND expires > now())"

    private static func invitation(_ row: PostgresRow, code: String? = nil) throws -> Invitation {
        Invitation(
            id: try row.decode(0, as: UUID.self).uuidString.lowercased(), role: try row.decode(1), code: code,
            email: try row.decode(7), inviter: try row.decode(2), uses: try row.decode(3),
            usesLeft: try row.decode(4), expires: try row.decode(5), created: try row.decode(6))
    }

    /// - Throws: `role-not-found`, `forbidden`; `limit-exceeded` beyond `maximumOpen`.
    func create(
        to role: String, uses: Int, days: Int, email: String? = nil, by caller: Identity, in space: AppSchema
    ) async throws -> Invitation {
        let table = try space.own("_role_invitations")
        let code = RoleInvitationCode.random()
        return try await changing(role, as: caller, in: space) { transaction in
            try await transaction.execute("DELETE FROM \(table) WHERE role = \(role) AND NOT \(Self.isOpen)")
            let open: Int = try await transaction.query("SELECT count(*) FROM \(table) WHERE role = \(role)")[0]
                .decode(0)
            guard open < Self.maximumOpen else {
                throw ServiceError(.limitExceeded, "A role may have at most \(Self.maximumOpen) open invitations.")
            }
            let rows = try await transaction.query(
                """
                INSERT INTO \(table) (id, role, digest, inviter, uses, uses_left, expires, email)
                VALUES (gen_random_uuid(), \(role), \(code.digest), \(caller.userID), \(uses), \(uses),
                    now() + make_interval(days => \(Int32(days))), \(email))
                RETURNING \(Self.columns)
                """)
            return try Self.invitation(rows[0], code: code.text)
        }
    }

    /// The open invitations to a role, oldest first.
    ///
    /// - Throws: `role-not-found`, `forbidden`.
    func list(of role: String, for caller: Identity, in space: AppSchema) async throws -> [Invitation] {
        try await changing(role, as: caller, in: space) { transaction in
            try await transaction.query(
                """
                SELECT \(Self.columns) FROM \(try space.own("_role_invitations")) WHERE role = \(role) AND \(Self.isOpen)
                ORDER BY created, id LIMIT \(Self.maximumOpen)
                """
            ).map { try Self.invitation($0) }
        }
    }

    /// Returns false if the role has no such invitation.
    ///
    /// - Throws: `role-not-found`, `forbidden`.
    func revoke(_ id: UUID, of role: String, by caller: Identity, in space: AppSchema) async throws -> Bool {
        try await changing(role, as: caller, in: space) { transaction in
            try await transaction.execute(
                "DELETE FROM \(try space.own("_role_invitations")) WHERE id = \(id) AND role = \(role)") > 0
        }
    }

    /// Deletes an invitation whose code was not delivered.
    func withdraw(_ id: String, in space: AppSchema) async throws {
        try await postgres.withTransaction(role: space.role) { transaction in
            _ = try await transaction.execute(
                "DELETE FROM \(try space.own("_role_invitations")) WHERE id = \(UUID(uuidString: id))")
        }
    }

    /// Adds a user to the role of an invitation code; nil if the text is not a code. If the user is already a member,
    /// the code stays valid.
    ///
    /// The attempt is counted before the code is checked, and no longer counts after a success, so parallel guesses
    /// gain nothing.
    ///
    /// - Throws: `limit-exceeded`.
    func join(by code: RoleInvitationCode?, as user: String, in space: AppSchema) async throws -> JoinOutcome {
        try await spaces.prepare(space)
        let outcome = try await postgres.withTransaction(role: space.role) { transaction -> JoinOutcome in
            guard try await countGuess(of: user, in: space, transaction) else { return .tooManyGuesses }
            guard let code, let role = try await use(code, by: user, in: space, transaction) else { return .refused }
            try await transaction.execute("DELETE FROM \(try space.own("_role_guesses")) WHERE member = \(user)")
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
            return .joined(role: role)
        }
        if case .joined = outcome { rights.forget(space) }
        return outcome
    }

    /// Returns false if the user has made too many.
    private func countGuess(of user: String, in space: AppSchema, _ transaction: PostgresTransaction) async throws
        -> Bool
    {
        let isOver: PostgresQuery =
            "g.since < now() - make_interval(secs => \(Double(Self.guessPeriodInSeconds)))"
        let rows = try await transaction.query(
            """
            INSERT INTO \(try space.own("_role_guesses")) AS g (member) VALUES (\(user))
            ON CONFLICT (member) DO UPDATE SET failures = CASE WHEN \(isOver) THEN 1 ELSE least(g.failures, 1000000) + 1 END,
                since = CASE WHEN \(isOver) THEN now() ELSE g.since END
            RETURNING failures
            """)
        return try rows[0].decode(0, as: Int.self) <= Self.maximumGuesses
    }

    /// Returns the role; nil if the code cannot be used.
    private func use(
        _ code: RoleInvitationCode, by user: String, in space: AppSchema, _ transaction: PostgresTransaction
    ) async throws -> String? {
        let (table, members) = (try space.own("_role_invitations"), try space.own("_role_members"))
        let management = RoleManagement(space: space)
        try await transaction.execute(
            """
            SELECT FROM \(try space.own("_roles")) WHERE name = (SELECT role FROM \(table) WHERE digest = \(code.digest))
            FOR NO KEY UPDATE
            """)
        // In a separate statement, which sees what others did before this transaction got the lock.
        let rows = try await transaction.query(
            """
            SELECT i.role, EXISTS (SELECT FROM \(members) AS m WHERE m.role = i.role AND m.member = \(user)) FROM \(table) AS i
            WHERE digest = \(code.digest) AND \(Self.isOpen)
                AND (inviter IS NULL OR \(try management.manages("i.inviter", "i.role")))
            """)
        guard let row = rows.first else { return nil }
        let role: String = try row.decode(0)
        if try row.decode(1, as: Bool.self) { return role }
        try await management.checkLimits(adding: [user], to: role, transaction)
        let used = try await transaction.execute(
            "UPDATE \(table) SET uses_left = uses_left - 1 WHERE digest = \(code.digest) AND uses_left > 0")
        // The invitation was revoked meanwhile.
        guard used == 1 else { return nil }
        try await transaction.execute(
            "INSERT INTO \(members) (role, member) VALUES (\(role), \(user)) ON CONFLICT DO NOTHING")
        return role
    }

    private func changing<T: Sendable>(
        _ role: String, as caller: Identity, in space: AppSchema, _ body: (PostgresTransaction) async throws -> T
    ) async throws -> T {
        try await spaces.prepare(space)
        return try await postgres.withTransaction(role: space.role) { transaction in
            try await RoleManagement(space: space).lock(role, for: caller, transaction)
            return try await body(transaction)
        }
    }
}
