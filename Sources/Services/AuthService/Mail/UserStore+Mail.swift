import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// A user's data for writing mail to them.
struct MailedUser: Sendable {
    var id: UUID
    var email: String?
    var isEmailVerified: Bool
    var isDisabled: Bool
    /// The `language` of the private or the public profile.
    var language: String?
}

extension UserStore {
    func findForMail(_ email: String, in space: AppSpace) async throws -> MailedUser? {
        try await findForMail(where: "u.email = \(email)", in: space)
    }

    func findForMail(_ id: UUID, in space: AppSpace) async throws -> MailedUser? {
        try await findForMail(where: "u.id = \(id)", in: space)
    }

    private func findForMail(where condition: PostgresQuery, in space: AppSpace) async throws -> MailedUser? {
        try await postgres.query(
            """
            SELECT u.id, u.email, u.email_verified, u.disabled, left(coalesce(u.private ->> 'language', u.profile ->> 'language'), 35)
            FROM auth.users AS u WHERE \(condition) AND \(Self.isIn(space))
            """
        ).first.map {
            MailedUser(
                id: try $0.decode(0), email: try $0.decode(1), isEmailVerified: try $0.decode(2),
                isDisabled: try $0.decode(3),
                language: try $0.decode(4))
        }
    }

    /// The contact data of users. Contains an address only if it is verified and the user is not disabled.
    func contacts(_ ids: [UUID], in space: AppSpace) async throws -> [MailContacts.Contact] {
        try await postgres.query(
            """
            SELECT u.id, CASE WHEN u.email_verified AND NOT u.disabled THEN u.email END, coalesce(u.private ->> 'language', u.profile ->> 'language')
            FROM auth.users AS u WHERE u.id = ANY (\(ids)) AND \(Self.isIn(space))
            """
        ).map {
            MailContacts.Contact(
                id: try $0.decode(0, as: UUID.self).uuidString.lowercased(), email: try $0.decode(1),
                language: try $0.decode(2))
        }
    }

    /// The address to notify of a session on a new device; nil if it is the user's first session or the address is not
    /// verified.
    func recipientOfNewDeviceNotice(_ session: NewSession, of user: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT u.email FROM auth.users AS u
            WHERE u.id = \(user) AND \(Self.isIn(space)) AND u.email_verified
                AND EXISTS (SELECT FROM auth.sessions AS s WHERE s.user_id = u.id AND s.id < \(session.id))
                AND NOT EXISTS (SELECT FROM auth.sessions AS s WHERE s.user_id = u.id AND s.id < \(session.id) AND s.device = \(session.device))
            """
        ).first?.decode(0)
    }

    /// Marks the address in the proof as verified if it is still the user's.
    ///
    /// - Returns: False if the proof is used up or the user has another address.
    func verifyEmail(by proof: MailProof) async throws -> Bool {
        try await postgres.execute(
            """
            WITH proof AS (\(MailProofStore.consumption(of: proof)))
            UPDATE auth.users AS u SET email_verified = TRUE, updated = now() FROM proof WHERE u.id = proof.user_id AND u.email = proof.email
            """) > 0
    }

    /// Replaces the user's address with the one in the proof.
    ///
    /// - Returns: The user and the former address; nil if the proof is used up.
    /// - Throws: `conflict` if someone else has the address now.
    func changeEmail(by proof: MailProof) async throws -> (user: UUID, former: String?)? {
        try await Self.mappingConflicts {
            try await postgres.query(
                """
                WITH proof AS (\(MailProofStore.consumption(of: proof))),
                    former AS (SELECT id, email FROM auth.users WHERE id = (SELECT user_id FROM proof) FOR UPDATE)
                UPDATE auth.users AS u SET email = proof.email, email_verified = TRUE, updated = now()
                FROM proof, former WHERE u.id = former.id AND NOT u.disabled
                RETURNING u.id, former.email
                """
            ).first.map { (try $0.decode(0), try $0.decode(1)) }
        }
    }

    /// Sets a new password for the user who has proved to own the address. Ends all sessions and invalidates all other
    /// proofs.
    ///
    /// - Returns: The user; nil if the proof is used up, or the user has another address or is disabled.
    func resetPassword(to hash: String, by proof: MailProof, in space: AppSpace) async throws -> UUID? {
        try await postgres.withTransaction { transaction in
            let row = try await transaction.query(
                """
                WITH proof AS (\(MailProofStore.consumption(of: proof)))
                SELECT u.id, u.email_verified FROM auth.users AS u, proof
                WHERE u.id = proof.user_id AND u.email = proof.email AND NOT u.disabled FOR UPDATE OF u
                """
            ).first
            guard let row else { return nil }
            let user: UUID = try row.decode(0)
            if try !row.decode(1) {
                _ = try await Self.handOver(user, toOwnerOf: proof.email, in: space, transaction)
            } else {
                try await Self.endAll(of: user, transaction)
            }
            try await transaction.execute(
                "UPDATE auth.users SET password = \(hash), email_verified = TRUE, updated = now() WHERE id = \(user)")
            return user
        }
    }

    /// Consumes the proof that a user signs in with. If the account's address was not verified, someone else may have
    /// created it, so the account is handed over: its password and sessions are removed.
    ///
    /// - Returns: False if the proof is used up or the user has another address.
    func signIn(_ user: UUID, by proof: MailProof, in space: AppSpace) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            guard try await !transaction.query(MailProofStore.consumption(of: proof)).isEmpty else { return false }
            let wasVerified: Bool? = try await transaction.query(
                "SELECT email_verified FROM auth.users WHERE id = \(user) AND email = \(proof.email) FOR UPDATE"
            ).first?.decode(0)
            guard let wasVerified else { return false }
            guard !wasVerified else { return true }
            return try await Self.handOver(user, toOwnerOf: proof.email, in: space, transaction)
        }
    }

    /// Ends all sessions but `kept`. Also deletes unconfirmed second factors and mailed proofs, because they may have
    /// been requested in an ended session.
    static func endAll(of user: UUID, except kept: UUID? = nil, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "UPDATE auth.sessions SET revoked = now() WHERE user_id = \(user) AND revoked IS NULL AND id IS DISTINCT FROM \(kept)::uuid"
        )
        try await transaction.execute("DELETE FROM auth.second_factors WHERE user_id = \(user) AND confirmed IS NULL")
        // Proofs that verify the account's current address remain, because they do not change it.
        try await transaction.execute(
            "DELETE FROM auth.mail_proofs WHERE user_id = \(user) AND purpose <> \(MailKind.verifyEmail.rawValue)")
    }
}
