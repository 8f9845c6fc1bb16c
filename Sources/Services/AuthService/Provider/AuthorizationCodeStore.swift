import Crypto
import Foundation
import MartletCore
import MartletPostgres

/// The authorization that a code is issued for.
struct Authorization: Sendable {
    var client: UUID
    var browserSession: UUID
    var redirectURI: String
    var challenge: String
    var scopes: [ProviderScope]
    var nonce: String?
}

/// Codes that a browser carries from the provider to a client (RFC 6749 §4.1). Each can be used once.
struct AuthorizationCodeStore: Sendable {
    static let lifetimeInSeconds: Int64 = 60
    /// The maximum number of unexpired codes of one browser session.
    static let maximumPerBrowser: Int64 = 100

    let postgres: PostgresClient

    /// - Returns: Nil if the browser's session has too many codes.
    func create(_ authorization: Authorization) async throws -> String? {
        let code = Secret.random().withValue { $0 }
        let isNew =
            try await postgres.execute(
                """
                INSERT INTO auth.authorization_codes
                    (sha256, client_id, browser_session_id, redirect_uri, challenge, scopes, nonce, expires)
                SELECT \(Self.digest(code)), \(authorization.client), \(authorization.browserSession), \(authorization.redirectURI),
                    \(authorization.challenge), \(authorization.scopes.names), \(authorization.nonce),
                    now() + \(Self.lifetimeInSeconds) * interval '1 second'
                WHERE (
                    SELECT count(*) FROM auth.authorization_codes WHERE browser_session_id = \(authorization.browserSession) AND expires > now()
                ) < \(Self.maximumPerBrowser)
                """) > 0
        return isNew ? code : nil
    }

    /// The values that the client must present with a code.
    struct Proof: Sendable {
        var client: OAuthClient
        var redirectURI: String
        /// The PKCE verifier (RFC 7636 §4.1).
        var verifier: String
    }

    /// Consumes a code and starts its session, atomically. Nil if the code is unknown, expired, used before or belongs
    /// to another client, if the proof is wrong, or if the browser's session has ended.
    func exchange(_ code: String, _ proof: Proof, in space: AppSpace) async throws -> (
        session: ClientSession, nonce: String?
    )? {
        let session = NewSession(device: proof.client.name)
        let offline = ProviderScope.offlineAccess.rawValue
        let row = try await postgres.query(
            """
            WITH taken AS (
                UPDATE auth.authorization_codes AS c SET session_id = \(session.id)
                FROM auth.sessions AS b JOIN auth.users AS u ON u.id = b.user_id
                WHERE c.sha256 = \(Self.digest(code)) AND c.client_id = \(proof.client.id) AND c.redirect_uri = \(proof.redirectURI)
                    AND c.challenge = \(CodeChallenge.s256(proof.verifier)) AND c.session_id IS NULL AND c.expires > now()
                    AND b.id = c.browser_session_id AND b.revoked IS NULL AND b.expires > now() AND NOT u.disabled AND \(UserStore.isIn(space))
                RETURNING c.client_id, c.browser_session_id, c.scopes, c.nonce, u.id AS user_id, b.created AS authenticated
            ), session AS (
                INSERT INTO auth.sessions (id, user_id, device, expires)
                SELECT \(session.id), user_id, \(session.device), now() + interval '1 second' * CASE
                    WHEN \(offline) = ANY (scopes) THEN \(NewSession.lifetimeInSeconds) ELSE \(ClientSession.accessTokenLifetimeInSeconds) END
                FROM taken
            ), client_session AS (
                INSERT INTO auth.client_sessions (session_id, client_id, browser_session_id, scopes, authenticated)
                SELECT \(session.id), client_id, CASE WHEN \(offline) = ANY (scopes) THEN NULL ELSE browser_session_id END, scopes, authenticated
                FROM taken
            )
            SELECT user_id, scopes, floor(extract(epoch FROM authenticated))::bigint, nonce FROM taken
            """
        ).first
        guard let row else { return nil }
        let started = ClientSession(
            id: session.id, userID: try row.decode(0), scopes: [ProviderScope](names: try row.decode(1)),
            authenticated: try row.decode(2))
        return (started, try row.decode(3))
    }

    /// Ends the session that the code was exchanged for earlier: a code that is used twice was stolen (RFC 6749
    /// §4.1.2).
    ///
    /// - Returns: Whether there was such a session.
    func endSession(of code: String, client: UUID) async throws -> Bool {
        try await postgres.execute(
            """
            UPDATE auth.sessions AS s SET revoked = now() FROM auth.authorization_codes AS c
            WHERE c.sha256 = \(Self.digest(code)) AND c.client_id = \(client) AND s.id = c.session_id AND s.revoked IS NULL
            """) > 0
    }

    /// Deletes codes that expired long ago.
    func clean() async throws {
        try await postgres.execute(
            "DELETE FROM auth.authorization_codes WHERE expires < now() - interval '1 hour'", timeout: .seconds(120))
    }

    private static func digest(_ code: String) -> Data { Data(SHA256.hash(data: Data(code.utf8))) }
}
