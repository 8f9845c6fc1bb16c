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

/// The sessions of users on their devices.
struct SessionStore: Sendable {
    /// A further session of the user ends the one that has been idle the longest.
    static let maximumPerUser = 50
    /// How long after signing in the user is not asked to sign in again.
    static let freshForInSeconds: Int64 = 600

    let postgres: PostgresClient

    typealias Refresh = SessionTable.Refresh

    private var table: SessionTable {
        SessionTable(
            postgres: postgres, name: "auth.sessions", people: "auth.users", person: "user_id",
            personJSON: UserStore.ownJSON,
            renewal: "now() + \(NewSession.lifetimeInSeconds) * interval '1 second'")
    }

    /// Signs a user in by password, unless the account was disabled or the password changed in the meantime.
    ///
    /// - Returns: The user's own view.
    func create(_ session: NewSession, of account: UserStore.Account) async throws -> String? {
        try await create(
            session, where: "u.id = \(account.id) AND u.password = \(account.passwordHash)", user: account.id)
    }

    /// Signs in a user who was authenticated in another way, unless the account was disabled.
    ///
    /// - Returns: The user's own view.
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
        try await table.endIdlest(of: user, beyond: Self.maximumPerUser)
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

    /// Replaces the refresh token `content`.
    func refresh(_ content: RefreshTokens.Content, in space: AppSpace) async throws -> Refresh {
        try await table.refresh(content, where: UserStore.isIn(space))
    }

    /// The user's open sessions as JSON objects, the newest first.
    func list(of user: UUID, current: String?, in space: AppSpace) async throws -> [String] {
        try await table.list(of: user, current: current, where: UserStore.isIn(space))
    }

    /// Ends one session of the user, or all but `kept`. Returns the number of ended sessions.
    @discardableResult
    func end(_ session: UUID? = nil, butFor kept: UUID? = nil, of user: UUID, in space: AppSpace) async throws -> Int {
        try await table.end(session, butFor: kept, of: user, where: UserStore.isIn(space))
    }

    /// Deletes sessions that ended long ago, and revocations that gateways no longer need.
    func clean() async throws {
        try await table.clean()
        try await postgres.execute(
            "DELETE FROM auth.revocations WHERE until < now() - interval '1 hour'", timeout: .seconds(120))
        try await postgres.execute(
            "DELETE FROM auth.attempts WHERE updated < now() - interval '1 day'", timeout: .seconds(120))
    }
}
