import Foundation
import MartletCore
import MartletPostgres

/// What a new session comes with.
struct NewSession: Sendable {
    /// From its last refresh on.
    static let lifetimeInSeconds: Int64 = 60 * 86_400

    let id: UUID
    /// What the app calls the device; up to 200 characters.
    let device: String

    init(device: String) {
        id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        self.device = device
    }
}

/// The devices on which users are signed in.
struct SessionStore: Sendable {
    /// A user's further session ends the one that has been idle for the longest.
    static let maximumPerUser = 50
    /// How long a token that was just replaced gets the same answer again.
    private static let graceInSeconds: Int64 = 10
    /// How long after signing in nobody is asked to do it once more.
    static let freshForInSeconds: Int64 = 600

    let postgres: PostgresClient

    struct Refreshed: Sendable {
        var userID: UUID
        /// Number of the newest refresh token.
        var number: Int32
        /// The user as they see themselves.
        var user: String
    }

    enum Refresh: Sendable {
        case refreshed(Refreshed)
        /// There is no such session, or it has ended, or its user is disabled.
        case refused
        /// The token had been replaced before: somebody has a copy. The session has ended with this.
        case reused(userID: UUID)
    }

    /// Signs an account in by its password, unless it has been disabled or its password has changed meanwhile.
    ///
    /// - Returns: the user as they see themselves.
    func create(_ session: NewSession, of account: UserStore.Account) async throws -> String? {
        try await create(session, where: "u.id = \(account.id) AND u.password = \(account.passwordHash)", user: account.id)
    }

    /// Signs a user in who has proved by something else who they are, unless they have been disabled.
    ///
    /// - Returns: the user as they see themselves.
    func create(_ session: NewSession, of user: UUID, in space: UserSpace) async throws -> String? {
        try await create(session, where: "u.id = \(user) AND \(UserStore.isIn(space))", user: user)
    }

    private func create(_ session: NewSession, where condition: PostgresQuery, user: UUID) async throws -> String? {
        let json: String? = try await postgres.query(
            """
            WITH signed_in AS (
                UPDATE auth.users AS u SET last_sign_in = now() WHERE \(condition) AND NOT disabled RETURNING u.*
            ), session AS (
                INSERT INTO auth.sessions (id, user_id, device, expires)
                SELECT \(session.id), id, \(session.device), now() + \(NewSession.lifetimeInSeconds) * interval '1 second' FROM signed_in
            )
            SELECT \(UserStore.ownJSON) FROM signed_in AS u
            """
        ).first?.decode(0)
        try await endIdlest(of: user)
        return json
    }

    /// Whether the user has signed in with the session less than ten minutes ago.
    func isFresh(_ session: UUID, of user: UUID) async throws -> Bool {
        try await !postgres.query(
            """
            SELECT FROM auth.sessions WHERE id = \(session) AND user_id = \(user) AND revoked IS NULL
                AND created > now() - \(Self.freshForInSeconds) * interval '1 second'
            """
        ).isEmpty
    }

    /// Replaces the refresh token `content`.
    func refresh(_ content: RefreshTokens.Content, in space: UserSpace) async throws -> Refresh {
        let row = try await postgres.query(
            """
            UPDATE auth.sessions AS s
            SET generation = generation + 1, rotated = now(), expires = now() + \(NewSession.lifetimeInSeconds) * interval '1 second'
            FROM auth.users AS u
            WHERE s.id = \(content.session) AND s.generation = \(content.number) AND s.revoked IS NULL AND s.expires > now()
                AND u.id = s.user_id AND NOT u.disabled AND \(UserStore.isIn(space))
            RETURNING u.id, s.generation, \(UserStore.ownJSON)
            """).first
        if let row { return .refreshed(Refreshed(userID: try row.decode(0), number: try row.decode(1), user: try row.decode(2))) }
        return try await lookAgain(content, in: space)
    }

    /// Why a token was not the newest: the answer with the newest was lost, or it is a copy.
    private func lookAgain(_ content: RefreshTokens.Content, in space: UserSpace) async throws -> Refresh {
        let row = try await postgres.query(
            """
            SELECT u.id, s.generation, \(UserStore.ownJSON), s.rotated > now() - \(Self.graceInSeconds) * interval '1 second'
            FROM auth.sessions AS s JOIN auth.users AS u ON u.id = s.user_id
            WHERE s.id = \(content.session) AND s.revoked IS NULL AND s.expires > now() AND NOT u.disabled AND \(UserStore.isIn(space))
            """).first
        guard let row else { return .refused }
        let (userID, newest): (UUID, Int32) = (try row.decode(0), try row.decode(1))
        if content.number == newest - 1, try row.decode(3) {
            return .refreshed(Refreshed(userID: userID, number: newest, user: try row.decode(2)))
        }
        // A newer number than any was never handed out, unless the database is an old one: not a copy, then.
        guard content.number < newest else { return .refused }
        try await postgres.execute("UPDATE auth.sessions SET revoked = now() WHERE id = \(content.session) AND revoked IS NULL")
        return .reused(userID: userID)
    }

    /// JSON objects of the user's open sessions, the newest first.
    func list(of user: UUID, current: String?, in space: UserSpace) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'id', s.id, 'device', s.device, 'current', s.id::text = \(current ?? ""),
                'created', \(UserStore.time("s.created")), 'lastUsed', \(UserStore.time("s.rotated")))::text
            FROM auth.sessions AS s JOIN auth.users AS u ON u.id = s.user_id
            WHERE s.user_id = \(user) AND s.revoked IS NULL AND s.expires > now() AND \(UserStore.isIn(space))
            ORDER BY s.created DESC, s.id LIMIT 100
            """
        ).map { try $0.decode(0) }
    }

    /// Ends one session of the user, or all but `kept`; returns how many there were.
    @discardableResult
    func end(_ session: UUID? = nil, butFor kept: UUID? = nil, of user: UUID, in space: UserSpace) async throws -> Int {
        try await postgres.execute(
            """
            UPDATE auth.sessions AS s SET revoked = now() FROM auth.users AS u
            WHERE s.user_id = \(user) AND u.id = s.user_id AND \(UserStore.isIn(space)) AND s.revoked IS NULL AND s.expires > now()
                AND s.id = coalesce(\(session), s.id) AND s.id IS DISTINCT FROM \(kept)::uuid
            """)
    }

    private func endIdlest(of user: UUID) async throws {
        try await postgres.execute(
            """
            UPDATE auth.sessions SET revoked = now() WHERE revoked IS NULL AND id IN (
                SELECT id FROM auth.sessions WHERE user_id = \(user) AND revoked IS NULL AND expires > now()
                ORDER BY rotated DESC OFFSET \(Self.maximumPerUser))
            """)
    }

    /// Deletes what ended long ago, and what gateways need not know any more.
    func clean() async throws {
        try await postgres.execute("DELETE FROM auth.sessions WHERE least(revoked, expires) < now() - interval '7 days'", timeout: .seconds(120))
        try await postgres.execute("DELETE FROM auth.revocations WHERE until < now() - interval '1 hour'", timeout: .seconds(120))
        try await postgres.execute("DELETE FROM auth.attempts WHERE updated < now() - interval '1 day'", timeout: .seconds(120))
    }
}
