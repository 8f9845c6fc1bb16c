import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Another application to which users of an app can sign in (RFC 6749 §2).
struct OAuthClient: Sendable {
    var id: UUID
    var name: String
    var redirectURIs: [RedirectURI]
    /// The URIs to which a signed-out browser may be sent; compared byte for byte.
    var postLogoutRedirectURIs: [String]
    /// The scopes that the client may request.
    var scopes: [ProviderScope]
    /// The signature algorithm of its ID tokens.
    var idTokenAlgorithm: IDTokenAlgorithm
    /// The SHA-256 of the secret in hexadecimal; nil for a public client.
    var secretDigest: String?

    var isConfidential: Bool { secretDigest != nil }
}

/// A client's properties as set by the app's server.
struct ClientDescription: Sendable {
    var name: String
    var redirectURIs: [RedirectURI]
    var postLogoutRedirectURIs: [RedirectURI]
    var scopes: [ProviderScope]
    /// If nil, a new client gets RS256 (OpenID Connect Dynamic Client Registration 1.0 §2) and an existing one keeps
    /// its algorithm.
    var idTokenAlgorithm: IDTokenAlgorithm?
}

/// The clients of an app's OIDC provider. The app's server gets them as JSON objects.
struct ClientStore: Sendable {
    static let maximumPerSpace = 200

    let postgres: PostgresClient

    /// - Parameter secretDigest: Nil for a public client.
    /// - Returns: Nil if there are too many clients.
    func create(_ client: ClientDescription, secretDigest: String?, in space: AppSpace) async throws -> String? {
        let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        return try await postgres.query(
            """
            INSERT INTO auth.clients AS c (
                id, app_id, environment, name, redirect_uris, post_logout_redirect_uris, scopes, id_token_algorithm, secret_sha256)
            SELECT \(id), \(space.appID), \(space.environment.rawValue), \(client.name), \(client.redirectURIs.map(\.text)),
                \(client.postLogoutRedirectURIs.map(\.text)), \(client.scopes.names),
                \((client.idTokenAlgorithm ?? .rs256).rawValue), \(secretDigest)
            WHERE (SELECT count(*) FROM auth.clients AS c WHERE \(Self.isIn(space))) < \(Int64(Self.maximumPerSpace))
            RETURNING \(Self.json)
            """
        ).first?.decode(0)
    }

    /// All clients, oldest first.
    func list(in space: AppSpace) async throws -> [String] {
        try await postgres.query(
            "SELECT \(Self.json) FROM auth.clients AS c WHERE \(Self.isIn(space)) ORDER BY id LIMIT \(Int64(Self.maximumPerSpace))"
        ).map { try $0.decode(0) }
    }

    func read(_ id: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query("SELECT \(Self.json) FROM auth.clients AS c WHERE id = \(id) AND \(Self.isIn(space))")
            .first?.decode(0)
    }

    /// Scopes that are removed here are immediately removed from existing tokens too.
    func change(_ id: UUID, _ client: ClientDescription, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            """
            UPDATE auth.clients AS c
            SET name = \(client.name), redirect_uris = \(client.redirectURIs.map(\.text)),
                post_logout_redirect_uris = \(client.postLogoutRedirectURIs.map(\.text)), scopes = \(client.scopes.names),
                id_token_algorithm = coalesce(\(client.idTokenAlgorithm?.rawValue), id_token_algorithm), updated = now()
            WHERE id = \(id) AND \(Self.isIn(space)) RETURNING \(Self.json)
            """
        ).first?.decode(0)
    }

    enum SecretChange: Sendable {
        case changed(String)
        case isPublic
        case notFound
    }

    /// Replaces the secret. The old one is refused immediately.
    func changeSecret(_ id: UUID, digest: String, in space: AppSpace) async throws -> SecretChange {
        let row = try await postgres.query(
            """
            UPDATE auth.clients AS c
            SET secret_sha256 = CASE WHEN secret_sha256 IS NULL THEN NULL ELSE \(digest) END, updated = now()
            WHERE id = \(id) AND \(Self.isIn(space)) RETURNING \(Self.json), secret_sha256 IS NOT NULL
            """
        ).first
        guard let row else { return .notFound }
        return try row.decode(1) ? .changed(try row.decode(0)) : .isPublic
    }

    /// Deletes a client with all users' grants and ends its sessions.
    func delete(_ id: UUID, in space: AppSpace) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            // The lock keeps new sessions from starting.
            let found = try await transaction.query(
                "SELECT FROM auth.clients AS c WHERE id = \(id) AND \(Self.isIn(space)) FOR UPDATE")
            guard !found.isEmpty else { return false }
            try await transaction.execute(
                """
                UPDATE auth.sessions SET revoked = now()
                WHERE revoked IS NULL AND id IN (SELECT session_id FROM auth.client_sessions WHERE client_id = \(id))
                """)
            try await transaction.execute("DELETE FROM auth.clients WHERE id = \(id)")
            return true
        }
    }

    func find(_ id: UUID, in space: AppSpace) async throws -> OAuthClient? {
        try await postgres.query(
            """
            SELECT id, name, redirect_uris, scopes, secret_sha256, post_logout_redirect_uris, id_token_algorithm FROM auth.clients AS c
            WHERE id = \(id) AND \(Self.isIn(space))
            """
        ).first.map { row in
            OAuthClient(
                id: try row.decode(0), name: try row.decode(1),
                redirectURIs: try row.decode(2, as: [String].self).map(RedirectURI.init(of:)),
                postLogoutRedirectURIs: try row.decode(5), scopes: [ProviderScope](names: try row.decode(3)),
                idTokenAlgorithm: IDTokenAlgorithm(rawValue: try row.decode(6)) ?? .rs256,
                secretDigest: try row.decode(4))
        }
    }

    private static func isIn(_ space: AppSpace) -> PostgresQuery {
        "c.app_id = \(space.appID) AND c.environment = \(space.environment.rawValue)"
    }

    /// The JSON of the row `c`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', c.id, 'name', c.name, 'type', CASE WHEN c.secret_sha256 IS NULL THEN 'public' ELSE 'confidential' END,
            'redirectUris', c.redirect_uris, 'postLogoutRedirectUris', c.post_logout_redirect_uris, 'scopes', c.scopes,
            'idTokenSignedResponseAlg', c.id_token_algorithm, 'created', \(PostgresQuery.rfc3339("c.created")),
            'updated', \(PostgresQuery.rfc3339("c.updated")))::text
        """
}
