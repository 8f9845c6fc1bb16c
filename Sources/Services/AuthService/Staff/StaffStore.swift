import Foundation
import MartletAPI
import MartletCore
import MartletMail
public import MartletPostgres

/// The people who run the server. Changes to them are recorded in the audit log.
public struct StaffStore: Sendable {
    let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    var audit: AuditStore { AuditStore(postgres: postgres) }

    /// A staff member's data for signing in.
    struct Account: Sendable {
        var id: UUID
        var grant: StaffGrant
        /// Argon2id in the PHC string format.
        var passwordHash: String
        var isDisabled: Bool
    }

    func account(_ name: StaffName) async throws -> Account? {
        try await account(where: "u.user_name = \(name.text)")
    }

    func account(_ id: UUID) async throws -> Account? {
        try await account(where: "u.id = \(id)")
    }

    func account(where condition: PostgresQuery) async throws -> Account? {
        try await postgres.query(
            "SELECT \(Self.grantColumns), u.password, u.disabled FROM auth.staff AS u WHERE \(condition)"
        ).first.map {
            Account(
                id: try $0.decode(0), grant: try Self.grant($0), passwordHash: try $0.decode(5),
                isDisabled: try $0.decode(6))
        }
    }

    func find(_ id: UUID) async throws -> String? {
        try await postgres.query("SELECT \(Self.json) FROM auth.staff AS u WHERE id = \(id)").first?.decode(0)
    }

    /// Ordered by name, starting after `name`, each with the name.
    func list(after name: String, limit: Int) async throws -> [(name: String, json: String)] {
        try await postgres.query(
            "SELECT u.user_name, \(Self.json) FROM auth.staff AS u WHERE u.user_name > \(name) ORDER BY u.user_name LIMIT \(limit)"
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// The existing members among `ids` that are not disabled, ordered by name, each with a mail address. The address
    /// is the one stored for the member, otherwise one that the member signs in with, otherwise the member's name if
    /// it is an address. Nil if there is none.
    func enabled(among ids: [UUID]) async throws -> [(grant: StaffGrant, email: String?)] {
        try await postgres.query(
            """
            SELECT \(Self.grantColumns), coalesce(u.email, (SELECT min(i.email) FROM auth.staff_identities AS i WHERE i.staff_id = u.id), u.user_name)
            FROM auth.staff AS u WHERE u.id = ANY (\(ids)) AND NOT u.disabled ORDER BY u.user_name
            """
        ).map { (try Self.grant($0), try? EmailAddress($0.decode(5)).text) }
    }

    /// Changes the member's own password and ends all sessions but `kept`. Nil if it was changed in the meantime.
    func changePassword(of account: Account, to hash: String, keeping kept: UUID?, from address: String) async throws
        -> String?
    {
        try await postgres.withTransaction { transaction in
            let json: String? = try await transaction.query(
                """
                UPDATE auth.staff AS u SET password = \(hash), must_reset = FALSE, updated = now()
                WHERE u.id = \(account.id) AND u.password = \(account.passwordHash) AND NOT u.disabled RETURNING \(Self.json)
                """
            ).first?.decode(0)
            guard let json else { return nil }
            try await Self.endSessions(of: account.id, except: kept, transaction)
            try await audit.record(
                AuditEntry(by: account.grant, "change-password", .staff, target: account.grant.id, from: address),
                transaction)
            return json
        }
    }

    static func endSessions(of id: UUID, except kept: UUID? = nil, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "UPDATE auth.staff_sessions SET revoked = now() WHERE staff_id = \(id) AND revoked IS NULL AND id IS DISTINCT FROM \(kept)::uuid"
        )
    }

    // MARK: SQL, of the row `u`

    static let grantColumns: PostgresQuery = "u.id, u.user_name, u.is_administrator, u.must_reset, u.rights"

    static func grant(_ row: PostgresRow) throws -> StaffGrant {
        let rights: PostgresJSON = try row.decode(4)
        return StaffGrant(
            id: try row.decode(0, as: UUID.self).uuidString.lowercased(), userName: try row.decode(1),
            isAdministrator: try row.decode(2),
            mustReset: try row.decode(3), rights: try JSONDecoder().decode(StaffRights.self, from: Data(rights.bytes)))
    }

    /// A staff member's JSON, the same for themselves and others.
    static let json: PostgresQuery = """
        jsonb_build_object(
            'id', u.id, 'userName', u.user_name, 'firstName', u.first_name, 'lastName', u.last_name,
            'isAdministrator', u.is_administrator, 'rights', u.rights, 'mustReset', u.must_reset,
            'disabled', u.disabled, 'email', u.email, 'hasPassword', u.has_password,
            'secondFactor', EXISTS (SELECT FROM auth.staff_second_factors AS f WHERE f.staff_id = u.id AND f.confirmed IS NOT NULL),
            'identities', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'provider', i.provider, 'issuer', i.issuer, 'subject', i.subject, 'email', i.email,
                    'lastUsed', \(PostgresQuery.rfc3339("i.last_used"))) ORDER BY i.provider), '[]')
                FROM auth.staff_identities AS i WHERE i.staff_id = u.id),
            'created', \(PostgresQuery.rfc3339("u.created")), 'updated', \(PostgresQuery.rfc3339("u.updated")),
            'lastSignIn', \(PostgresQuery.rfc3339("u.last_sign_in")))::text
        """
}
