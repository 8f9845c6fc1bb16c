import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// Where users live: an app, live or test.
struct UserSpace: Sendable, Equatable {
    var appID: String
    var environment: AppEnvironment
}

/// How somebody says who they are when they sign in.
enum UserIdentity: Sendable, Equatable {
    case userName(UserName)
    case email(EmailAddress)

    /// No two identities spell the same.
    var text: String {
        switch self {
        case .userName(let name): name.text
        case .email(let address): address.text
        }
    }
}

/// What a new user comes with.
struct NewUser: Sendable {
    var id = UUID(uuidString: UUIDv7.make()) ?? UUID()
    var userName: UserName?
    var email: EmailAddress?
    var passwordHash: String?
    /// JSON objects.
    var profile = "{}"
    var privateProfile = "{}"
    /// Whether the address has been proved. An invitation that was mailed to it proves it, too.
    var isEmailVerified = false
    /// The code of an invitation, which is used up.
    var invitation: String?
    /// By which they signed in elsewhere.
    var identity: ProvenIdentity?
}

/// Which of a user's sessions end, and with them what was mailed to change the account.
enum EndedSessions: Sendable {
    case none
    case all(butFor: UUID?)
}

/// What of a user is to change; nil: nothing.
struct UserChange: Sendable {
    var userName: UserName?
    var email: EmailAddress?
    var isEmailVerified: Bool?
    var passwordHash: String?
    /// JSON objects, each instead of the whole former one.
    var profile: String?
    var privateProfile: String?
    var isDisabled: Bool?
}

/// The end users of apps. Users are handed out as the JSON objects that clients get.
struct UserStore: Sendable {
    let postgres: PostgresClient

    /// What signing in needs to know of an account.
    struct Account: Sendable {
        var id: UUID
        /// As `PasswordHash` takes it; nil: nobody can sign in by a password.
        var passwordHash: String?
        var isDisabled: Bool
        /// What the user signs in by.
        var label: String?
        /// Whether the user has nothing to sign in by.
        var isAnonymous: Bool
        var email: String?
        var isEmailVerified: Bool
    }

    struct User: Sendable {
        var id: UUID
        /// The user as they see themselves.
        var json: String
    }

    /// Makes a user with a first session.
    ///
    /// - Parameter needsVerifiedEmail: there is a session only when the address has been proved; else none, and
    ///   `isSignedIn` is false.
    /// - Throws: `conflict` when somebody else has the name, the address or the identity; `invalid-body` for a profile
    ///   that is too large, and for an invitation that is not good for the address.
    func create(
        _ user: NewUser, session: NewSession, needsVerifiedEmail: Bool = false, in space: UserSpace
    ) async throws -> (id: UUID, json: String, isSignedIn: Bool) {
        try await Self.tellingConflicts {
            let row = try await postgres.query(
                Self.insertion(of: user, session: session, needsVerifiedEmail: needsVerifiedEmail, in: space)
            ).first
            guard let row else { throw Self.wrongInvitation }
            return (user.id, try row.decode(0), try row.decode(1))
        }
    }

    static var wrongInvitation: HTTPProblem {
        HTTPProblem(
            .invalidBody, "The invitation is wrong, used or has expired, or is for another address.",
            field: "invitation")
    }

    /// A row with the user's JSON and whether there is a session; none: the invitation is not good for the address.
    static func insertion(of user: NewUser, session: NewSession, needsVerifiedEmail: Bool = false, in space: UserSpace)
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

    func account(_ identity: UserIdentity, in space: UserSpace) async throws -> Account? {
        try await account(where: Self.isOf(identity), in: space)
    }

    func account(_ id: UUID, in space: UserSpace) async throws -> Account? {
        try await account(where: "id = \(id)", in: space)
    }

    private func account(where condition: PostgresQuery, in space: UserSpace) async throws -> Account? {
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

    /// The user as they see themselves, or as the app's server does.
    func find(_ id: UUID, in space: UserSpace) async throws -> String? {
        try await postgres.query("SELECT \(Self.ownJSON) FROM auth.users AS u WHERE id = \(id) AND \(Self.isIn(space))")
            .first?.decode(0)
    }

    /// The user as others see them. Who is disabled is not there.
    func findPublic(_ id: UUID, in space: UserSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object('id', id, 'userName', user_name, 'profile', profile, 'created', \(PostgresQuery.rfc3339("created")))::text
            FROM auth.users AS u WHERE id = \(id) AND NOT disabled AND \(Self.isIn(space))
            """
        ).first?.decode(0)
    }

    /// What conditions of other services look at. Who is disabled is not there.
    func profile(_ id: UUID, in space: UserSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object('profile', profile, 'emailVerified', email IS NOT NULL AND email_verified, 'anonymous', \(Self.isAnonymous))::text
            FROM auth.users AS u WHERE id = \(id) AND NOT disabled AND \(Self.isIn(space))
            """
        ).first?.decode(0)
    }

    /// Users in the order in which they came, from behind `after`.
    func list(after: UUID?, limit: Int, identity: UserIdentity?, in space: UserSpace) async throws -> [User] {
        var condition: PostgresQuery = "TRUE"
        if let after { condition = "id > \(after)" }
        if let identity { condition = "\(condition) AND \(Self.isOf(identity))" }
        return try await postgres.query(
            "SELECT u.id, \(Self.ownJSON) FROM auth.users AS u WHERE \(Self.isIn(space)) AND \(condition) ORDER BY id LIMIT \(limit)"
        ).map { User(id: try $0.decode(0), json: try $0.decode(1)) }
    }

    /// Changes a user and returns them as they are then; nil: there is none, or it is not as `where` demands.
    ///
    /// - Parameter ended: which of the user's sessions end with it.
    /// - Throws: as `create`; `invalid-body` also for a password without a name to go with it.
    func change(
        _ id: UUID, _ change: UserChange, where condition: PostgresQuery = "TRUE", ending ended: EndedSessions = .none,
        in space: UserSpace
    ) async throws -> String? {
        try await Self.tellingConflicts {
            guard case .all(let kept) = ended else {
                return try await postgres.query(Self.update(id, change, where: condition, in: space)).first?.decode(0)
            }
            // Two statements: the second sees the sessions of log-ins that the first has waited for; later ones see the
            // change.
            return try await postgres.withTransaction { transaction in
                let user: String? = try await transaction.query(Self.update(id, change, where: condition, in: space))
                    .first?.decode(0)
                guard let user else { return nil }
                try await Self.endAll(of: id, butFor: kept, transaction)
                return user
            }
        }
    }

    /// Puts another hash of the same password in the place of `former`, unless the password was changed meanwhile.
    func renewPassword(_ hash: String, insteadOf former: String, of user: UUID) async throws {
        try await postgres.execute(
            "UPDATE auth.users SET password = \(hash) WHERE id = \(user) AND password = \(former)")
    }

    private static func update(_ id: UUID, _ change: UserChange, where condition: PostgresQuery, in space: UserSpace)
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

    /// Makes an account whose address nobody had verified the account of whoever has proved the address to be theirs.
    ///
    /// Whoever made it may have been somebody else. So its row is deleted and made anew under the same id, and
    /// everything by which one could still get in goes with it, whatever it is: password, sessions, second factor,
    /// passkeys, identities, what was allowed to others. Name, profile and what apps store under the id stay.
    ///
    /// - Returns: whether the account was still so.
    static func handOver(_ user: UUID, toOwnerOf email: String, in space: UserSpace, _ transaction: PostgresTransaction)
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

    /// Who is being deleted is not there any more.
    static func isIn(_ space: UserSpace) -> PostgresQuery {
        "u.app_id = \(space.appID) AND u.environment = \(space.environment.rawValue) AND NOT u.deleting"
    }

    /// Of the row `u`: whether there is nothing to sign in by.
    static let isAnonymous: PostgresQuery = "(u.email IS NULL AND \(hasNoCredential))"

    /// Of the row `u`: nothing is left by which the user could sign in.
    ///
    /// - Parameter isMailThere: whether mail is sent, so that a verified address is something to sign in by.
    static func hasNoSignIn(isMailThere: Bool) -> PostgresQuery {
        isMailThere ? "((u.email IS NULL OR NOT u.email_verified) AND \(hasNoCredential))" : "(\(hasNoCredential))"
    }

    /// After something by which a user signs in was taken away in the transaction, which has locked their row.
    ///
    /// - Throws: `conflict` when nothing is left.
    static func checkSignInIsLeft(to user: UUID, isMailThere: Bool, _ transaction: PostgresTransaction) async throws {
        let query: PostgresQuery =
            "SELECT \(hasNoSignIn(isMailThere: isMailThere)) FROM auth.users AS u WHERE id = \(user)"
        guard try await !transaction.query(query)[0].decode(0, as: Bool.self) else {
            throw HTTPProblem(
                .conflict,
                "There is nothing else to sign in by: set a password, add a passkey or link an identity first.")
        }
    }

    private static let hasNoCredential: PostgresQuery = """
        u.password IS NULL AND NOT EXISTS (SELECT FROM auth.passkeys AS k WHERE k.user_id = u.id)
        AND NOT EXISTS (SELECT FROM auth.identities AS i WHERE i.user_id = u.id)
        """

    /// Of the row `u`.
    static let ownJSON = ownJSON(isAnonymous: isAnonymous)

    /// Of a row that the same statement makes: what it makes elsewhere cannot be seen yet.
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

    static func tellingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == "23505" {
            switch error.constraint {
            case "users_user_name": throw HTTPProblem(.conflict, "Somebody else has this already.", field: "userName")
            case "users_email": throw HTTPProblem(.conflict, "Somebody else has this already.", field: "email")
            case "identities_pkey": throw HTTPProblem(.conflict, "Somebody else has this identity.")
            default: throw error
            }
        } catch let error as PostgresError where error.constraint == "users_profile_size" {
            throw HTTPProblem(.invalidBody, "The numbers in it are too large.", field: "profile")
        } catch let error as PostgresError where error.constraint == "users_password_needs_name" {
            throw HTTPProblem(.invalidBody, "A password needs a name or an address to go with it.", field: "password")
        }
    }
}
