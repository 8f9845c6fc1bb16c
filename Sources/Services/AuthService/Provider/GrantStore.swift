import Foundation
import MartletCore
import MartletPostgres

/// The scopes that users have granted to clients.
struct GrantStore: Sendable {
    let postgres: PostgresClient

    /// Whether the user has already granted all of the scopes.
    func covers(_ scopes: [ProviderScope], of user: UUID, to client: UUID) async throws -> Bool {
        try await !postgres.query(
            "SELECT FROM auth.client_grants WHERE user_id = \(user) AND client_id = \(client) AND scopes @> \(scopes.names)"
        ).isEmpty
    }

    /// Adds to the scopes that the user has granted.
    func remember(_ scopes: [ProviderScope], of user: UUID, to client: UUID) async throws {
        try await postgres.execute(
            """
            INSERT INTO auth.client_grants AS g (user_id, client_id, scopes) VALUES (\(user), \(client), \(scopes.names))
            ON CONFLICT (user_id, client_id) DO UPDATE
            SET scopes = ARRAY(SELECT DISTINCT unnest(g.scopes || excluded.scopes) ORDER BY 1), updated = now()
            """)
    }

    /// Grants as JSON objects, newest first.
    func list(of user: UUID, in space: AppSpace) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object(
                'client', c.id, 'name', c.name, 'scopes', g.scopes, 'created', \(PostgresQuery.rfc3339("g.created")),
                'updated', \(PostgresQuery.rfc3339("g.updated")))::text
            FROM auth.client_grants AS g JOIN auth.clients AS c ON c.id = g.client_id JOIN auth.users AS u ON u.id = g.user_id
            WHERE g.user_id = \(user) AND \(UserStore.isIn(space)) ORDER BY g.created DESC, c.id LIMIT \(Int64(ClientStore.maximumPerSpace))
            """
        ).map { try $0.decode(0) }
    }

    /// Revokes all grants to a client: the user's sessions there end, and its codes become invalid.
    func remove(of user: UUID, to client: UUID, in space: AppSpace) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let count = try await transaction.execute(
                """
                DELETE FROM auth.client_grants AS g USING auth.users AS u
                WHERE g.user_id = \(user) AND g.client_id = \(client) AND u.id = g.user_id AND \(UserStore.isIn(space))
                """)
            guard count > 0 else { return false }
            try await transaction.execute(
                """
                DELETE FROM auth.authorization_codes AS c USING auth.sessions AS b
                WHERE c.client_id = \(client) AND b.id = c.browser_session_id AND b.user_id = \(user)
                """)
            try await transaction.execute(
                """
                UPDATE auth.sessions AS s SET revoked = now() FROM auth.client_sessions AS c
                WHERE c.client_id = \(client) AND s.id = c.session_id AND s.user_id = \(user) AND s.revoked IS NULL
                """)
            return true
        }
    }
}
