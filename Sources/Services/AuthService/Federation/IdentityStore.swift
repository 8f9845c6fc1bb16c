import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// The identities of users at providers.
struct IdentityStore: Sendable {
    let postgres: PostgresClient
    let key: SealingKey

    /// The account that an identity leads to.
    enum Owner: Sendable {
        /// The user who signed in with the identity before.
        case user(UUID)
        /// The account with the identity's address. Both the provider and the account have verified the address.
        case address(UUID)
        /// The account with the identity's address. The account has not verified the address.
        case unverified(UUID)
        case nobody
    }

    /// - Throws: `sign-in-failed` if the account with the identity's address is disabled.
    func owner(of identity: VerifiedIdentity, in space: AppSpace) async throws -> Owner {
        let user: UUID? = try await postgres.query(
            "SELECT user_id FROM auth.identities AS i WHERE \(Self.isIdentity(identity, in: space))"
        ).first?.decode(0)
        if let user { return .user(user) }
        guard let email = identity.verifiedEmail else { return .nobody }
        let row = try await postgres.query(
            "SELECT id, email_verified, disabled FROM auth.users AS u WHERE \(UserStore.isIn(space)) AND email = \(email.text)"
        ).first
        guard let row else { return .nobody }
        guard try !row.decode(2, as: Bool.self) else { throw ServiceError.unusableProof }
        return try row.decode(1) ? .address(row.decode(0)) : .unverified(row.decode(0))
    }

    /// Links an identity to a user, or records the use of an identity that is already linked.
    ///
    /// - Throws: `conflict` if the identity belongs to another user, or the user has another one at the same provider.
    func link(_ identity: VerifiedIdentity, to user: UUID, in space: AppSpace) async throws {
        do {
            let isLinked =
                try await postgres.execute(
                    """
                    \(Self.insertion(identity, "FROM auth.users AS u WHERE u.id = \(user) AND \(UserStore.isIn(space))", in: space))
                    ON CONFLICT (app_id, environment, issuer, subject) DO UPDATE
                    SET provider = excluded.provider, email = excluded.email, last_used = now() WHERE i.user_id = excluded.user_id
                    """) > 0
            guard isLinked else { throw ServiceError(.conflict, "This identity belongs to another user.") }
        } catch let error as PostgresError where error.constraint == "identities_user" {
            throw ServiceError(.conflict, "The user has another identity at this provider; unlink it first.")
        }
    }

    /// Gives a user without an address the address of an identity. Marks the user's own address as verified if it is
    /// the address of the identity. Does nothing if another user has the address.
    func adoptEmail(of identity: VerifiedIdentity, for user: UUID, in space: AppSpace) async throws {
        guard let email = identity.verifiedEmail else { return }
        do {
            try await postgres.execute(
                """
                UPDATE auth.users AS u SET email = \(email.text), email_verified = TRUE, updated = now()
                WHERE id = \(user) AND \(UserStore.isIn(space)) AND coalesce(email, \(email.text)) = \(email.text)
                    AND NOT (email IS NOT NULL AND email_verified)
                """)
        } catch let error as PostgresError where error.constraint == "users_email" {}
    }

    /// Hands an account with an unverified address over to the owner of the address (`UserStore.handOver`).
    ///
    /// - Returns: Whether the account still had the address and had not verified it.
    func claim(_ user: UUID, for identity: VerifiedIdentity, in space: AppSpace) async throws -> Bool {
        guard let email = identity.verifiedEmail else { return false }
        return try await postgres.withTransaction { transaction in
            guard try await UserStore.handOver(user, toOwnerOf: email.text, in: space, transaction) else {
                return false
            }
            try await transaction.execute(
                Self.insertion(identity, "FROM auth.users AS u WHERE u.id = \(user)", in: space))
            return true
        }
    }

    /// A user's identities as JSON objects, in the order in which they were linked.
    func list(of user: UUID, in space: AppSpace) async throws -> [String] {
        try await postgres.query(
            """
            SELECT \(Self.json) FROM auth.identities AS i
            WHERE user_id = \(user) AND app_id = \(space.appID) AND environment = \(space.environment.rawValue)
            ORDER BY created, provider LIMIT 100
            """
        ).map { try $0.decode(0) }
    }

    /// Removes an identity. Returns false if the user has none at the provider.
    ///
    /// - Parameter accompanying: Runs before the removal, in the same transaction.
    /// - Throws: `conflict` if it is the user's last way to sign in.
    func unlink(
        provider: String, of user: UUID, canSendMail: Bool, in space: AppSpace,
        with accompanying: (PostgresTransaction) async throws -> Void
    ) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            // Serializes concurrent calls: the second one waits here and sees what the first has left.
            try await transaction.execute(
                "SELECT FROM auth.users AS u WHERE id = \(user) AND \(UserStore.isIn(space)) FOR UPDATE")
            try await accompanying(transaction)
            let isGone =
                try await transaction.execute(
                    """
                    DELETE FROM auth.identities
                    WHERE user_id = \(user) AND provider = \(provider) AND app_id = \(space.appID) AND environment = \(space.environment.rawValue)
                    """) > 0
            guard isGone else { return false }
            try await UserStore.checkSignInIsLeft(to: user, canSendMail: canSendMail, transaction)
            return true
        }
    }

    // MARK: Tokens to revoke

    /// Stores a token that must be revoked when the account is deleted, as Apple requires.
    func store(_ token: RevocableToken, of identity: VerifiedIdentity, in space: AppSpace) async throws {
        let sealed = try key.seal(value: token, for: Self.tokenPurpose)
        try await postgres.execute(
            "UPDATE auth.identities AS i SET sealed_token = \(sealed) WHERE \(Self.isIdentity(identity, in: space))")
    }

    /// The tokens to revoke: providers and encrypted tokens. The identities stay locked until the transaction ends, so
    /// that no two transactions find the same tokens.
    ///
    /// - Parameter provider: Nil for all providers.
    func tokens(of user: UUID, provider: String?, in transaction: PostgresTransaction) async throws -> [(
        provider: String, sealed: Data
    )] {
        try await transaction.query(
            """
            SELECT provider, sealed_token FROM auth.identities
            WHERE user_id = \(user) AND provider = coalesce(\(provider), provider) AND sealed_token IS NOT NULL FOR UPDATE
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    func open(_ sealed: Data) -> RevocableToken? { key.value(in: sealed, for: Self.tokenPurpose) }

    private static let tokenPurpose = "token to be revoked"

    // MARK: SQL

    /// The JSON of the row `i`.
    static let json: PostgresQuery = """
        jsonb_build_object('provider', i.provider, 'subject', i.subject, 'email', i.email,
            'created', \(PostgresQuery.rfc3339("i.created")), 'lastUsed', \(PostgresQuery.rfc3339("i.last_used")))::text
        """

    /// Inserts the identity for the user `u` of the FROM clause `source`.
    static func insertion(_ identity: VerifiedIdentity, _ source: PostgresQuery, in space: AppSpace) -> PostgresQuery {
        """
        INSERT INTO auth.identities AS i (app_id, environment, issuer, subject, provider, user_id, email)
        SELECT \(space.appID), \(space.environment.rawValue), \(identity.issuer), \(identity.subject), \(identity.provider), u.id, \(identity.email)
        \(source)
        """
    }

    private static func isIdentity(_ identity: VerifiedIdentity, in space: AppSpace) -> PostgresQuery {
        """
        i.app_id = \(space.appID) AND i.environment = \(space.environment.rawValue)
            AND i.issuer = \(identity.issuer) AND i.subject = \(identity.subject)
        """
    }
}
