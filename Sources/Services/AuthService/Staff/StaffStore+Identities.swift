import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// A staff member's identity at a provider: a subject, or the first identity to arrive with the verified address.
struct StaffIdentity: Sendable {
    var provider: String
    var issuer: String
    var subject: String?
    var email: EmailAddress?
}

/// Identities of staff at providers. Only an administrator, or someone who holds every right of the member, can link
/// them; a matching address alone links no one.
extension StaffStore {
    /// - Throws: `staff-not-found`; `conflict` if another member has the identity; `forbidden` by `StaffRules`.
    func link(_ identity: StaffIdentity, to id: UUID, by actor: StaffActor) async throws -> String {
        do {
            return try await changeIdentity(
                of: id, "link-identity", identity.provider,
                """
                INSERT INTO auth.staff_identities (staff_id, provider, issuer, subject, email)
                VALUES (\(id), \(identity.provider), \(identity.issuer), \(identity.subject), \(identity.email?.text))
                ON CONFLICT (staff_id, provider) DO UPDATE
                SET issuer = excluded.issuer, subject = excluded.subject, email = excluded.email, created = now(), last_used = NULL
                """, by: actor)
        } catch let error as PostgresError
            where error.constraint == "staff_identities_subject" || error.constraint == "staff_identities_email"
        {
            throw ServiceError(
                .conflict, "Another staff member already has this identity.",
                field: error.constraint == "staff_identities_subject" ? "subject" : "email")
        }
    }

    /// - Throws: `staff-not-found`; `not-found` if there is no link; `forbidden` by `StaffRules`.
    func unlink(_ provider: String, from id: UUID, by actor: StaffActor) async throws -> String {
        try await changeIdentity(
            of: id, "unlink-identity", provider,
            "DELETE FROM auth.staff_identities WHERE staff_id = \(id) AND provider = \(provider)", by: actor)
    }

    private func changeIdentity(
        of id: UUID, _ action: String, _ provider: String, _ statement: PostgresQuery, by actor: StaffActor
    ) async throws -> String {
        try await postgres.withTransaction { transaction in
            let (grant, target, before) = try await lock(id, actor, transaction)
            // Whoever links an identity to a member can sign in as that member.
            try StaffRules.check(grant, .update, target)
            guard try await transaction.execute(statement) > 0 else {
                throw ServiceError(.notFound, "The member is not linked to this provider.")
            }
            let json: String = try await transaction.query(
                "SELECT \(Self.json) FROM auth.staff AS u WHERE u.id = \(id)")[0].decode(0)
            let after = try JSONValue(parsing: json.utf8)
            try await audit.record(
                AuditEntry(
                    by: grant, action, .staff, target: target.id, before: before["identities"],
                    after: after["identities"], from: actor.address),
                transaction)
            return json
        }
    }

    // MARK: Signing in

    /// The member with the identity: by its subject, otherwise by an address that is waiting for a subject.
    func account(of identity: VerifiedIdentity) async throws -> Account? {
        try await account(
            where: """
                u.id = (
                    SELECT i.staff_id FROM auth.staff_identities AS i
                    WHERE i.provider = \(identity.provider) AND i.issuer = \(identity.issuer)
                        AND (i.subject = \(identity.subject) OR i.subject IS NULL AND i.email = \(identity.verifiedEmail?.text))
                    ORDER BY i.subject NULLS LAST LIMIT 1)
                """)
    }

    /// Records that the identity signs the member in, and fixes its subject if only the address was linked. Returns
    /// false if the identity is no longer the member's.
    func use(_ identity: VerifiedIdentity, of id: UUID) async throws -> Bool {
        try await postgres.execute(
            """
            UPDATE auth.staff_identities SET subject = \(identity.subject), last_used = now()
            WHERE staff_id = \(id) AND provider = \(identity.provider) AND issuer = \(identity.issuer)
                AND (subject = \(identity.subject) OR subject IS NULL AND email = \(identity.verifiedEmail?.text))
            """) > 0
    }

    /// Creates a linked staff member without rights, named after their address.
    ///
    /// - Parameter passwordHash: The hash of a random password, which is not stored anywhere.
    /// - Returns: Nil if the name is taken: a matching address does not give access to an existing member.
    func create(_ name: StaffName, passwordHash: String, _ identity: VerifiedIdentity, from address: String)
        async throws
        -> Account?
    {
        try await postgres.withTransaction { transaction in
            let row = try await transaction.query(
                """
                INSERT INTO auth.staff AS u (user_name, password, has_password) VALUES (\(name.text), \(passwordHash), FALSE)
                ON CONFLICT (user_name) DO NOTHING
                RETURNING \(Self.grantColumns), \(Self.json)
                """
            ).first
            guard let row else { return nil }
            let (id, grant): (UUID, StaffGrant) = (try row.decode(0), try Self.grant(row))
            try await transaction.execute(
                """
                INSERT INTO auth.staff_identities (staff_id, provider, issuer, subject, email)
                VALUES (\(id), \(identity.provider), \(identity.issuer), \(identity.subject), \(identity.verifiedEmail?.text))
                """)
            let after = try JSONValue(parsing: row.decode(5, as: String.self).utf8)
            try await audit.record(
                AuditEntry(by: grant, "create", .staff, target: grant.id, after: after, from: address), transaction)
            return Account(id: id, grant: grant, passwordHash: passwordHash, isDisabled: false)
        }
    }
}
