import Foundation
import MartletCore
import MartletPostgres

/// The properties of a new session.
struct NewSession: Sendable {
    /// Counted from the last refresh.
    static let lifetimeInSeconds: Int64 = 60 * 86_400

    let id: UUID
    /// The app's name for the device, up to 200 characters.
    let device: String
    let lifetimeInSeconds: Int64

    init(device: String, lifetimeInSeconds: Int64 = Self.lifetimeInSeconds) {
        id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        self.device = device
        self.lifetimeInSeconds = lifetimeInSeconds
    }
}

/// The sessions of users and staff on their devices.
struct SessionStore: Sendable {
    /// The maximum number of a user's sessions. A further one ends the one that was idle the longest.
    static let maximumPerUser = 50
    /// How long after a sign-in the user can make sensitive calls without signing in again.
    static let freshForInSeconds: Int64 = 600

    let postgres: PostgresClient

    private var users: SessionTable {
        SessionTable(
            postgres: postgres, name: "auth.sessions", people: "auth.users", person: "user_id",
            personJSON: UserStore.ownJSON,
            renewal: "now() + \(NewSession.lifetimeInSeconds) * interval '1 second'")
    }

    var staff: SessionTable {
        SessionTable(
            postgres: postgres, name: "auth.staff_sessions", people: "auth.staff", person: "staff_id",
            personJSON: StaffStore.json,
            renewal: "least(now() + s.lifetime, s.created + interval '90 days')")
    }

    /// Signs a user in by password.
    ///
    /// - Returns: The user's own view; nil if the account was disabled or the password changed in the meantime.
    func create(_ session: NewSession, of account: UserStore.Account) async throws -> String? {
        try await create(
            session, where: "u.id = \(account.id) AND u.password = \(account.passwordHash)", user: account.id)
    }

    /// Signs in a user who was authenticated without a password.
    ///
    /// - Returns: The user's own view; nil if there is no such user or the account is disabled.
    func create(_ session: NewSession, of user: UUID, in space: AppSpace) async throws -> String? {
        try await create(session, where: "u.id = \(user) AND \(UserStore.isIn(space))", user: user)
    }

    private func create(_ session: NewSession, where condition: PostgresQuery, user: UUID) async throws -> String? {
        let json: String? = try await postgres.query(
            """
            WITH signed_in AS (
                UPDATE auth.users AS u SET last_sign_in = now() WHERE \(condition) AND NOT disabled RETURNING u.*
            ), session AS (
                INSERT INTO auth.sessions (id, user_id, device, expires)
                SELECT \(session.id), id, \(session.device), now() + \(session.lifetimeInSeconds) * interval '1 second' FROM signed_in
            )
            SELECT \(UserStore.ownJSON) FROM signed_in AS u
            """
        ).first?.decode(0)
        try await users.endLeastRecentlyUsed(of: user, beyond: Self.maximumPerUser)
        return json
    }

    /// Whether the user signed in with the session less than ten minutes ago.
    func isFresh(_ session: UUID, of user: UUID) async throws -> Bool {
        try await !postgres.query(
            """
            SELECT FROM auth.sessions WHERE id = \(session) AND user_id = \(user) AND revoked IS NULL
                AND created > now() - \(Self.freshForInSeconds) * interval '1 second'
            """
        ).isEmpty
    }

    /// Replaces the refresh token `content` of a user.
    func refresh(_ content: RefreshTokens.Content, in space: AppSpace) async throws -> SessionTable.Refresh {
        try await users.refresh(content, where: UserStore.isIn(space))
    }

    /// The person's open sessions as JSON objects, newest first.
    func list(of person: Person, current: String?) async throws -> [String] {
        let (table, condition) = sessions(of: person)
        return try await table.list(of: person.id, current: current, where: condition)
    }

    /// Ends one session of the person, or all but `kept`, and returns their number. For staff, records it in the audit
    /// log.
    @discardableResult
    func end(_ session: UUID? = nil, except kept: UUID? = nil, of person: Person) async throws -> Int {
        let (table, condition) = sessions(of: person)
        let ending = table.ending(session, except: kept, of: person.id, where: condition)
        guard person.isStaff else { return try await postgres.execute(ending) }
        return try await postgres.withTransaction { transaction in
            let count = try await transaction.execute(ending)
            guard session == nil || count > 0 else { return 0 }
            try await person.record(session == nil ? "end-sessions" : "sign-out", target: session, transaction)
            return count
        }
    }

    private func sessions(of person: Person) -> (SessionTable, where: PostgresQuery) {
        switch person {
        case .user(_, let space): (users, UserStore.isIn(space))
        case .staff: (staff, "TRUE")
        }
    }

    /// Deletes sessions that ended long ago, and revocations that gateways no longer need.
    func clean() async throws {
        try await users.clean()
        try await staff.clean()
        try await postgres.execute(
            "DELETE FROM auth.revocations WHERE until < now() - interval '1 hour'", timeout: .seconds(120))
        try await postgres.execute(
            "DELETE FROM auth.attempts WHERE updated < now() - interval '1 day'", timeout: .seconds(120))
    }
}
