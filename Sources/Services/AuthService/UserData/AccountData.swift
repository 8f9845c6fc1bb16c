import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The data that auth itself holds on users. Extend it here when another table gets data of users.
struct AccountData: UserDataHolder {
    /// The maximum number of exported rows of each kind; no user reaches it.
    private static let maximumRows = 10_000

    let postgres: PostgresClient

    /// Deletes the account; dependent tables follow by `ON DELETE CASCADE`.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (id, space) = try Self.user(request)
        let count = try await postgres.execute(
            "DELETE FROM auth.users WHERE id = \(id) AND app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
        )
        return UserErasure(erased: count > 0 ? ["accounts": count] : [:])
    }

    /// Exports everything at once, without credentials.
    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (id, space) = try Self.user(request)
        var lines = ByteBuffer()
        for (kind, query) in Self.kinds(of: id, in: space) {
            for row in try await postgres.query("\(query) LIMIT \(Self.maximumRows)") {
                lines.writeUserData(kind, of: .auth, try row.decode(0))
            }
        }
        return UserDataPortion(lines: lines)
    }

    /// The exported kinds of data, each with a query for JSON texts.
    private static func kinds(of id: UUID, in space: AppSpace) -> [(kind: String, query: PostgresQuery)] {
        let isOfUser: PostgresQuery =
            "user_id = (SELECT u.id FROM auth.users AS u WHERE u.id = \(id) AND \(UserStore.isIn(space)))"
        return [
            (
                "account",
                "SELECT \(UserStore.ownJSON) FROM auth.users AS u WHERE u.id = \(id) AND \(UserStore.isIn(space))"
            ),
            (
                "session",
                """
                SELECT jsonb_build_object(
                    'device', s.device, 'created', \(PostgresQuery.rfc3339("s.created")), 'lastUsed', \(PostgresQuery.rfc3339("s.rotated")),
                    'expires', \(PostgresQuery.rfc3339("s.expires")), 'ended', \(PostgresQuery.rfc3339("s.revoked")))::text
                FROM auth.sessions AS s WHERE \(isOfUser) ORDER BY s.created, s.id
                """
            ),
            (
                "secondFactor",
                """
                SELECT jsonb_build_object('created', \(PostgresQuery.rfc3339("f.created")), 'confirmed', \(PostgresQuery.rfc3339("f.confirmed")))::text
                FROM auth.second_factors AS f WHERE \(isOfUser)
                """
            ),
            (
                "passkey",
                "SELECT \(PasskeyStore.json) FROM auth.passkeys AS k WHERE \(isOfUser) ORDER BY k.created, k.id"
            ),
            (
                "identity",
                "SELECT \(IdentityStore.json) FROM auth.identities AS i WHERE \(isOfUser) ORDER BY i.created, i.provider"
            ),
            (
                "allowedClient",
                """
                SELECT jsonb_build_object(
                    'name', c.name, 'scopes', to_jsonb(g.scopes), 'created', \(PostgresQuery.rfc3339("g.created")), 'updated', \(PostgresQuery.rfc3339("g.updated")))::text
                FROM auth.client_grants AS g JOIN auth.clients AS c ON c.id = g.client_id WHERE \(isOfUser) ORDER BY g.created, c.id
                """
            ),
        ]
    }

    private static func user(_ request: UserDataRequest) throws -> (UUID, AppSpace) {
        guard let id = UUID(uuidString: request.user) else {
            throw ServiceError.unexpectedMember("user", expected: "a user's id (a UUID)", found: request.user)
        }
        return (id, AppSpace(appID: request.app, environment: request.environment))
    }
}
