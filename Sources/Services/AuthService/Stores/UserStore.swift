import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
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
    var userName: UserName?
    var email: EmailAddress?
    var isEmailVerified = false
    var passwordHash: String?
    /// JSON objects.
    var profile = "{}"
    var privateProfile = "{}"
    /// By which they signed in elsewhere.
    var identity: ProvenIdentity?
}

/// Which of a user's sessions end.
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
        /// Argon2id in PHC string format; nil: nobody can sign in by a password.
        var passwordHash: String?
        var isDisabled: Bool
        /// Whether there is nothing to sign in by but the session's own tokens.
        var isAnonymous: Bool
        /// What the user signs in by.
        var label: String?
    }

    struct User: Sendable {
        var id: UUID
        /// The user as they see themselves.
        var json: String
    }

    /// Makes a user with a first session.
    ///
    /// - Throws: `conflict` when somebody else has the name, the address or the identity; `invalid-body` for a profile that is too large.
    func create(_ user: NewUser, session: NewSession, in space: UserSpace) async throws -> User {
        let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        let identity = user.identity.map { identity -> PostgresQuery in ", identity AS (\(IdentityStore.insertion(identity, "FROM made AS u", in: space)))" }
        return try await Self.tellingConflicts {
            let rows = try await postgres.query(
                """
                WITH made AS (
                    INSERT INTO auth.users (id, app_id, environment, user_name, email, email_verified, password, profile, private, last_sign_in)
                    VALUES (\(id), \(space.appID), \(space.environment.rawValue), \(user.userName?.text), \(user.email?.text), \(user.isEmailVerified),
                        \(user.passwordHash), \(user.profile)::jsonb, \(user.privateProfile)::jsonb, now())
                    RETURNING *
                ), session AS (
                    INSERT INTO auth.sessions (id, user_id, device, expires)
                    SELECT \(session.id), id, \(session.device), now() + \(NewSession.lifetimeInSeconds) * interval '1 second' FROM made
                )\(identity ?? "")
                SELECT \(Self.ownJSON(hasIdentity: user.identity != nil)) FROM made AS u
                """)
            return User(id: id, json: try rows[0].decode(0))
        }
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
            SELECT id, password, disabled, \(Self.isAnonymous), coalesce(user_name, email) FROM auth.users AS u
            WHERE \(Self.isIn(space)) AND \(condition)
            """
        ).first.map {
            Account(
                id: try $0.decode(0), passwordHash: try $0.decode(1), isDisabled: try $0.decode(2), isAnonymous: try $0.decode(3),
                label: try $0.decode(4))
        }
    }

    /// The user as they see themselves, or as the app's server does.
    func find(_ id: UUID, in space: UserSpace) async throws -> String? {
        try await postgres.query("SELECT \(Self.ownJSON) FROM auth.users AS u WHERE id = \(id) AND \(Self.isIn(space))").first?.decode(0)
    }

    /// The user as others see them. Who is disabled is not there.
    func findPublic(_ id: UUID, in space: UserSpace) async throws -> String? {
        try await postgres.query(
            """
            SELECT jsonb_build_object('id', id, 'userName', user_name, 'profile', profile, 'created', \(Self.time("created")))::text
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
        _ id: UUID, _ change: UserChange, where condition: PostgresQuery = "TRUE", ending ended: EndedSessions = .none, in space: UserSpace
    ) async throws -> String? {
        try await Self.tellingConflicts {
            guard case .all(let kept) = ended else { return try await postgres.query(Self.update(id, change, where: condition, in: space)).first?.decode(0) }
            // Two statements: the second sees the sessions of log-ins that the first has waited for; later ones see the change.
            return try await postgres.withTransaction { transaction in
                let user: String? = try await transaction.query(Self.update(id, change, where: condition, in: space)).first?.decode(0)
                guard let user else { return nil }
                try await transaction.execute(
                    "UPDATE auth.sessions SET revoked = now() WHERE user_id = \(id) AND revoked IS NULL AND id IS DISTINCT FROM \(kept)::uuid")
                return user
            }
        }
    }

    private static func update(_ id: UUID, _ change: UserChange, where condition: PostgresQuery, in space: UserSpace) -> PostgresQuery {
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

    /// Deletes a user with all sessions.
    ///
    /// - Parameter accompanying: done in the same transaction, before.
    func delete(_ id: UUID, in space: UserSpace, with accompanying: (PostgresTransaction) async throws -> Void = { _ in }) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            // Of another app or environment: nobody's business here.
            guard try await !transaction.query("SELECT FROM auth.users AS u WHERE id = \(id) AND \(Self.isIn(space)) FOR UPDATE").isEmpty else { return false }
            try await accompanying(transaction)
            return try await transaction.execute("DELETE FROM auth.users WHERE id = \(id)") > 0
        }
    }

    // MARK: SQL

    private static func isOf(_ identity: UserIdentity) -> PostgresQuery {
        switch identity {
        case .userName(let name): "user_name = \(name.text)"
        case .email(let address): "email = \(address.text)"
        }
    }

    static func isIn(_ space: UserSpace) -> PostgresQuery {
        "u.app_id = \(space.appID) AND u.environment = \(space.environment.rawValue)"
    }

    /// Whether the row `u` has nothing to sign in by.
    private static let isAnonymous: PostgresQuery = "(u.password IS NULL AND NOT EXISTS (SELECT FROM auth.identities AS i WHERE i.user_id = u.id))"

    /// Of the row `u`.
    static let ownJSON = ownJSON(isAnonymous: isAnonymous)

    /// Of a row that the same statement makes: what it makes elsewhere cannot be seen yet.
    private static func ownJSON(hasIdentity: Bool) -> PostgresQuery {
        ownJSON(isAnonymous: hasIdentity ? "FALSE" : "(u.password IS NULL)")
    }

    private static func ownJSON(isAnonymous: PostgresQuery) -> PostgresQuery {
        """
        jsonb_build_object(
            'id', u.id, 'userName', u.user_name, 'email', u.email, 'emailVerified', u.email_verified, 'isAnonymous', \(isAnonymous),
            'secondFactor', EXISTS (SELECT FROM auth.second_factors AS f WHERE f.user_id = u.id AND f.confirmed IS NOT NULL),
            'profile', u.profile, 'private', u.private, 'disabled', u.disabled, 'created', \(time("u.created")),
            'updated', \(time("u.updated")), 'lastSignIn', \(time("u.last_sign_in")))::text
        """
    }

    static func time(_ column: StaticString) -> PostgresQuery {
        var query: PostgresQuery = "to_char("
        query.append(unescaped: column)
        query.append(" AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
        return query
    }

    private static func tellingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
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
