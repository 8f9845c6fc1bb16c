import Foundation
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

/// The identifier with which a user signs in.
enum UserIdentity: Sendable, Equatable {
    case userName(UserName)
    case email(EmailAddress)

    /// No two identities have the same text.
    var text: String {
        switch self {
        case .userName(let name): name.text
        case .email(let address): address.text
        }
    }
}

/// The properties of a new user.
struct NewUser: Sendable {
    var id = UUID(uuidString: UUIDv7.make()) ?? UUID()
    var userName: UserName?
    var email: EmailAddress?
    var passwordHash: String?
    /// JSON objects.
    var profile = "{}"
    var privateProfile = "{}"
    /// Whether the address is verified. An invitation that was mailed to the address verifies it too.
    var isEmailVerified = false
    /// The code of an invitation, which is consumed.
    var invitation: String?
    /// The identity at a provider with which the user signed in.
    var identity: VerifiedIdentity?
}

/// Which of the user's sessions to end. If any end, links and codes that were mailed to change the account become
/// invalid too.
enum EndedSessions: Sendable {
    case none
    case all(except: UUID?)
}

/// A change to a user; nil leaves a property unchanged.
struct UserChange: Sendable {
    var userName: UserName?
    var email: EmailAddress?
    var isEmailVerified: Bool?
    var passwordHash: String?
    /// JSON objects that replace the former ones.
    var profile: String?
    var privateProfile: String?
    var isDisabled: Bool?
}

/// The end users of apps, returned as the JSON objects that clients get.
struct UserStore: Sendable {
    let postgres: PostgresClient

    /// An account's data for signing in.
    struct Account: Sendable {
        var id: UUID
        /// In a form that `PasswordHash` accepts; nil if the account has no password.
        var passwordHash: String?
        var isDisabled: Bool
        /// The name or address the user signs in with.
        var label: String?
        /// Whether the user has no way to sign in.
        var isAnonymous: Bool
        var email: String?
        var isEmailVerified: Bool
    }

    struct User: Sendable {
        var id: UUID
        /// The user's own view.
        var json: String
    }

    /// Creates a user with a first session.
    ///
    /// - Parameter needsVerifiedEmail: Whether a session is created only if the address is verified. Without a session,
    ///   `isSignedIn` is false.
    /// - Throws: `conflict` if the name, the address or the identity belongs to someone else; `invalid-body` for a
    ///   profile that is too large, and for an invitation that is not valid for the address.
    func create(
        _ user: NewUser, session: NewSession, needsVerifiedEmail: Bool = false, in space: AppSpace
    ) async throws -> (id: UUID, json: String, isSignedIn: Bool) {
        try await Self.mappingConflicts {
            let row = try await postgres.query(
                Self.insertion(of: user, session: session, needsVerifiedEmail: needsVerifiedEmail, in: space)
            ).first
            guard let row else { throw Self.wrongInvitation }
            return (user.id, try row.decode(0), try row.decode(1))
        }
    }

    static var wrongInvitation: ServiceError {
        ServiceError(
            .invalidBody, "The invitation is wrong, was used before, has expired or is for another address.",
            field: "invitation")
    }

    /// The statement that creates a user. It returns a row with the user's JSON and whether there is a session; no row
    /// if the invitation is not valid for the address.
    static func insertion(of user: NewUser, session: NewSession, needsVerifiedEmail: Bool = false, in space: AppSpace)
        -> PostgresQuery
    {
        let identity = user.identity.map { identity -> PostgresQuery in
            ", identity AS (\(IdentityStore.insertion(identity, "FROM made AS u", in: space)))"
        }
        let invitation =
            user.invitation.map { InvitationStore.consumption(of: $0, for: user.email, in: space) }
            ?? "SELECT NULL::text AS email"
        return """
            WITH invitation AS (\(invitation)), made AS (
                INSERT INTO auth.users (
                    id, app_id, environment, user_name, email, email_verified, password, profile, private, last_sign_in)
                SELECT \(user.id), \(space.appID), \(space.environment.rawValue), \(user.userName?.text), \(user.email?.text),
                    \(user.isEmailVerified) OR invitation.email IS NOT NULL, \(user.passwordHash), \(user.profile)::jsonb,
                    \(user.privateProfile)::jsonb, now()
                FROM invitation
                RETURNING *
            ), session AS (
                INSERT INTO auth.sessions (id, user_id, device, expires)
                SELECT \(session.id), id, \(session.device), now() + \(session.lifetimeInSeconds) * interval '1 second' FROM made
                WHERE email_verified OR NOT \(needsVerifiedEmail)
                RETURNING id
            )\(identity ?? "")
            SELECT \(ownJSON(hasIdentity: user.identity != nil)), EXISTS (SELECT FROM session) FROM made AS u
            """
    }

    func account(_ identity: UserIdentity, in space: AppSpace) async throws -> Account? {
        try await account(where: Self.isOf(identity), in: space)
    }

    func account(_ id: UUID, in space: AppSpace) async throws -> Account? {
        try await account(where: "id = \(id)", in: space)
    }

    private func account(where condition: PostgresQuery, in space: AppSpace) async throws -> Account? {
        try await postgres.query(
            """
            SELECT id, password, disabled, coalesce(user_name, email), \(Self.isAnonymous), email, email_verified FROM auth.users AS u
            WHERE \(Self.isIn(space)) AND \(condition)
            """
        ).first.map { row in
            Account(
                id: try row.decode(0), passwordHash: try row.decode(1), isDisabled: try row.decode(2),
                label: try row.decode(3),
                isAnonymous: try row.decode(4), email: try row.decode(5), isEmailVerified: try row.decode(6))
        }
    }

    /// The full view of a user, for the user and the app's server.
    func find(_ id: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query("SELECT \(Self.ownJSON) FROM auth.users AS u WHERE id = \(id) AND \(Self.isIn(space))")
            .first?.decode(0)
    }

    /// The public view of a user. Disabled users are not found.
    func findPublic(_ id: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object('id', id, 'userName', user_name, 'profile', profile, 'created', \(PostgresQuery.rfc3339("created")))::text
            FROM auth.users AS u WHERE id = \(id) AND NOT disabled AND \(Self.isIn(space))
            """
        ).first?.decode(0)
    }

    /// The attributes that conditions in other services test. Disabled users are not found.
    func profile(_ id: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object('profile', profile, 'emailVerified', email IS NOT NULL AND email_verified, 'anonymous', \(Self.isAnonymous))::text
            FROM auth.users AS u WHERE id = \(id) AND NOT disabled AND \(Self.isIn(space))
            """
        ).first?.decode(0)
    }

    /// Users in the order of their creation, starting after `after`.
    func list(after: UUID?, limit: Int, identity: UserIdentity?, in space: AppSpace) async throws -> [User] {
        var condition: PostgresQuery = "TRUE"
        if let after { condition = "id > \(after)" }
        if let identity { condition = "\(condition) AND \(Self.isOf(identity))" }
        return try await postgres.query(
            "SELECT u.id, \(Self.ownJSON) FROM auth.users AS u WHERE \(Self.isIn(space)) AND \(condition) ORDER BY id LIMIT \(limit)"
        ).map { User(id: try $0.decode(0), json: try $0.decode(1)) }
    }

    /// Changes a user and returns the new state; nil if there is no such user or `where` does not hold.
    ///
    /// - Parameter ended: The user's sessions that end with the change.
    /// - Throws: The errors of `create`; `invalid-body` also for a password without a name or address.
    func change(
        _ id: UUID, _ change: UserChange, where condition: PostgresQuery = "TRUE", ending ended: EndedSessions = .none,
        in space: AppSpace
    ) async throws -> String? {
        try await Self.mappingConflicts {
            guard case .all(let kept) = ended else {
                return try await postgres.query(Self.update(id, change, where: condition, in: space)).first?.decode(0)
            }
            // Two statements, because only the second one sees the sessions of log-ins that the first one waited for.
            // Log-ins after the first statement see the change.
            return try await postgres.withTransaction { transaction in
                let user: String? = try await transaction.query(Self.update(id, change, where: condition, in: space))
                    .first?.decode(0)
                guard let user else { return nil }
                try await Self.endAll(of: id, except: kept, transaction)
                return user
            }
        }
    }

    /// Replaces the hash `former` with another hash of the same password, unless the password was changed in the
    /// meantime.
    func renewPassword(_ hash: String, insteadOf former: String, of user: UUID) async throws {
        try await postgres.execute(
            "UPDATE auth.users SET password = \(hash) WHERE id = \(user) AND password = \(former)")
    }

    private static func update(_ id: UUID, _ change: UserChange, where condition: PostgresQuery, in space: AppSpace)
        -> PostgresQuery
    {
        """
        UPDATE auth.users AS u SET
            user_name = coalesce(\(change.userName?.text), user_name), email = coalesce(\(change.email?.text), email),
            email_verified = coalesce(
                \(change.isEmailVerified), email_verified AND email IS NOT DISTINCT FROM coalesce(\(change.email?.text), email)),
            password = coalesce(\(change.passwordHash), password),
            profile = coalesce(\(change.profile)::jsonb, profile), private = coalesce(\(change.privateProfile)::jsonb, private),
            disabled = coalesce(\(change.isDisabled), disabled), updated = now()
        WHERE id = \(id) AND \(isIn(space)) AND \(condition)
        RETURNING \(ownJSON)
        """
    }

    /// Hands an account with an unverified address over to the person who has proved ownership of the address.
    ///
    /// Someone else may have created the account, so its row is deleted and created again under the same id, which
    /// removes every way to sign in: password, sessions, second factor, passkeys, identities and grants. The name, the
    /// profile and what apps store under the id are kept.
    ///
    /// - Returns: False if the account was left alone, because it no longer has this address, the address has been
    ///   verified in the meantime, or the account is disabled.
    static func handOver(_ user: UUID, toOwnerOf email: String, in space: AppSpace, _ transaction: PostgresTransaction)
        async throws -> Bool
    {
        let row = try await transaction.query(
            """
            DELETE FROM auth.users AS u
            WHERE id = \(user) AND \(isIn(space)) AND email = \(email) AND NOT email_verified AND NOT disabled
            RETURNING user_name, profile::text, private::text, created
            """
        ).first
        guard let row else { return false }
        let (name, profile, own, created): (String?, String, String, Date) = (
            try row.decode(0), try row.decode(1), try row.decode(2), try row.decode(3)
        )
        try await transaction.execute(
            """
            INSERT INTO auth.users (id, app_id, environment, user_name, email, email_verified, profile, private, created)
            VALUES (\(user), \(space.appID), \(space.environment.rawValue), \(name), \(email), TRUE, \(profile)::jsonb, \(own)::jsonb, \(created))
            """)
        return true
    }

    // MARK: SQL

    static func isOf(_ identity: UserIdentity) -> PostgresQuery {
        switch identity {
        case .userName(let name): "user_name = \(name.text)"
        case .email(let address): "email = \(address.text)"
        }
    }

    /// Whether the user in row `u` belongs to the space and is not being deleted.
    static func isIn(_ space: AppSpace) -> PostgresQuery {
        "u.app_id = \(space.appID) AND u.environment = \(space.environment.rawValue) AND NOT u.deleting"
    }

    /// Whether the user in row `u` has no way to sign in.
    static let isAnonymous: PostgresQuery = "(u.email IS NULL AND \(hasNoCredential))"

    /// Whether the user in row `u` has no remaining way to sign in.
    ///
    /// - Parameter canSendMail: Whether mail can be sent, so that a verified address is a way to sign in.
    static func hasNoSignIn(canSendMail: Bool) -> PostgresQuery {
        canSendMail ? "((u.email IS NULL OR NOT u.email_verified) AND \(hasNoCredential))" : "(\(hasNoCredential))"
    }

    /// Checks that the user can still sign in, after the transaction has locked the row and removed a way to do so.
    ///
    /// - Throws: `conflict` if no way remains.
    static func checkSignInIsLeft(to user: UUID, canSendMail: Bool, _ transaction: PostgresTransaction) async throws {
        let query: PostgresQuery =
            "SELECT \(hasNoSignIn(canSendMail: canSendMail)) FROM auth.users AS u WHERE id = \(user)"
        guard try await !transaction.query(query)[0].decode(0, as: Bool.self) else {
            throw ServiceError(
                .conflict,
                "This is the user's last way to sign in; set a password, add a passkey or link an identity first.")
        }
    }

    private static let hasNoCredential: PostgresQuery = """
        u.password IS NULL AND NOT EXISTS (SELECT FROM auth.passkeys AS k WHERE k.user_id = u.id)
        AND NOT EXISTS (SELECT FROM auth.identities AS i WHERE i.user_id = u.id)
        """

    /// The JSON of the row `u`.
    static let ownJSON = ownJSON(isAnonymous: isAnonymous)

    /// For a row created by the same statement, whose other insertions are not visible yet.
    private static func ownJSON(hasIdentity: Bool) -> PostgresQuery {
        ownJSON(isAnonymous: hasIdentity ? "FALSE" : "(u.email IS NULL AND u.password IS NULL)")
    }

    private static func ownJSON(isAnonymous: PostgresQuery) -> PostgresQuery {
        """
        jsonb_build_object(
            'id', u.id, 'userName', u.user_name, 'email', u.email, 'emailVerified', u.email_verified, 'isAnonymous', \(isAnonymous),
            'secondFactor', EXISTS (SELECT FROM auth.second_factors AS f WHERE f.user_id = u.id AND f.confirmed IS NOT NULL),
            'profile', u.profile, 'private', u.private, 'disabled', u.disabled, 'created', \(PostgresQuery.rfc3339("u.created")),
            'updated', \(PostgresQuery.rfc3339("u.updated")), 'lastSignIn', \(PostgresQuery.rfc3339("u.last_sign_in")))::text
        """
    }

    static func mappingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == "23505" {
            switch error.constraint {
            case "users_user_name":
                throw ServiceError(.conflict, "Another user already has this name.", field: "userName")
            case "users_email": throw ServiceError(.conflict, "Another user already has this address.", field: "email")
            case "identities_pkey": throw ServiceError(.conflict, "Another user already has this identity.")
            default: throw error
            }
        } catch let error as PostgresError where error.constraint == "users_profile_size" {
            throw ServiceError(.invalidBody, "The numbers in this object are too large.", field: "profile")
        } catch let error as PostgresError where error.constraint == "users_password_needs_name" {
            throw ServiceError(.invalidBody, "A password requires a user name or an address.", field: "password")
        }
    }
}
