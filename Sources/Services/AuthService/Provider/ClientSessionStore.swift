import Foundation
import MartletCore
import MartletPostgres

/// A user's authorization of a client: its access tokens and a family of refresh tokens.
struct ClientSession: Sendable {
    static let accessTokenLifetimeInSeconds: Int64 = 900

    var id: UUID
    var userID: UUID
    /// Only those that the client may still request.
    var scopes: [ProviderScope]
    /// When the user signed in, in seconds since 1970.
    var authenticated: Int64
}

/// The sessions of users in clients. Each is also a row in the table of sessions: the user sees it in the list, and it
/// ends with that row.
struct ClientSessionStore: Sendable {
    /// The maximum number of sessions of a user in a client. A further one ends the one that was idle the longest.
    static let maximumPerUser = 20

    let postgres: PostgresClient

    /// An open session.
    struct Open: Sendable {
        var session: ClientSession
        var client: UUID
        /// The user's name or address.
        var userName: String?
        /// The number of the newest refresh token.
        var number: Int32
        /// In seconds since 1970.
        var expires: Int64
        /// The user's claims that the scopes give access to (OpenID Connect Core 1.0 §5.1), a JSON object.
        var claims: String
    }

    /// Nil if the session or the browser session it depends on has ended, or the user is disabled or deleted.
    func find(_ id: UUID, in space: AppSpace) async throws -> Open? {
        let row = try await postgres.query(
            """
            SELECT u.id, s.scopes, floor(extract(epoch FROM s.authenticated))::bigint, s.client_id, coalesce(u.user_name, u.email), s.generation,
                floor(extract(epoch FROM s.expires))::bigint,
                jsonb_strip_nulls(
                    jsonb_build_object('sub', u.id)
                    || CASE WHEN 'profile' = ANY (s.scopes) THEN jsonb_build_object(
                        'preferred_username', u.user_name, 'updated_at', floor(extract(epoch FROM u.updated))::bigint,
                        'name', CASE WHEN jsonb_typeof(u.profile -> 'name') = 'string' THEN u.profile -> 'name' END) ELSE '{}' END
                    || CASE WHEN 'email' = ANY (s.scopes) AND u.email IS NOT NULL THEN jsonb_build_object(
                        'email', u.email, 'email_verified', u.email_verified) ELSE '{}' END)::text
            FROM (
                SELECT s.user_id, s.generation, s.expires, cs.client_id, cs.authenticated,
                    ARRAY(SELECT scope FROM unnest(cs.scopes) AS scope WHERE scope = ANY (c.scopes)) AS scopes
                FROM auth.client_sessions AS cs JOIN auth.sessions AS s ON s.id = cs.session_id JOIN auth.clients AS c ON c.id = cs.client_id
                    LEFT JOIN auth.sessions AS b ON b.id = cs.browser_session_id
                WHERE cs.session_id = \(id) AND s.revoked IS NULL AND s.expires > now()
                    AND (b.id IS NULL OR b.revoked IS NULL AND b.expires > now())
            ) AS s JOIN auth.users AS u ON u.id = s.user_id
            WHERE NOT u.disabled AND \(UserStore.isIn(space))
            """
        ).first
        return try row.map { row in
            Open(
                session: ClientSession(
                    id: id, userID: try row.decode(0), scopes: [ProviderScope](names: try row.decode(1)),
                    authenticated: try row.decode(2)),
                client: try row.decode(3), userName: try row.decode(4), number: try row.decode(5),
                expires: try row.decode(6),
                claims: try row.decode(7))
        }
    }

    func end(_ id: UUID, of client: UUID) async throws {
        try await postgres.execute(
            """
            UPDATE auth.sessions AS s SET revoked = now() FROM auth.client_sessions AS c
            WHERE s.id = \(id) AND c.session_id = s.id AND c.client_id = \(client) AND s.revoked IS NULL
            """)
    }

    func endLeastRecentlyUsed(of user: UUID, in client: UUID) async throws {
        try await postgres.execute(
            """
            UPDATE auth.sessions SET revoked = now() WHERE revoked IS NULL AND id IN (
                SELECT s.id FROM auth.sessions AS s JOIN auth.client_sessions AS c ON c.session_id = s.id
                WHERE s.user_id = \(user) AND c.client_id = \(client) AND s.revoked IS NULL AND s.expires > now()
                ORDER BY s.rotated DESC, s.id DESC OFFSET \(Int64(Self.maximumPerUser)))
            """)
    }

    /// A browser session: the signed-in user and the time of the sign-in.
    struct Browser: Sendable {
        var session: UUID
        var userID: UUID
        /// The user's name or address.
        var userName: String
        /// In seconds since 1970.
        var authenticated: Int64
    }

    /// Nil if the browser's session has ended or the user is disabled or deleted.
    func browser(_ session: UUID, in space: AppSpace) async throws -> Browser? {
        try await postgres.query(
            """
            SELECT u.id, coalesce(u.user_name, u.email, ''), floor(extract(epoch FROM s.created))::bigint
            FROM auth.sessions AS s JOIN auth.users AS u ON u.id = s.user_id
            WHERE s.id = \(session) AND s.revoked IS NULL AND s.expires > now() AND NOT u.disabled AND \(UserStore.isIn(space))
            """
        ).first.map {
            Browser(
                session: session, userID: try $0.decode(0), userName: try $0.decode(1), authenticated: try $0.decode(2))
        }
    }
}
