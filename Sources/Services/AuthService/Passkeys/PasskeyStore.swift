import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A passkey with the data needed for signing in.
struct StoredPasskey: Sendable {
    var id: UUID
    var userID: UUID
    /// In COSE format.
    var publicKey: Data
    var signCount: Int64
}

/// Users' passkeys, the relying parties they are bound to, and open challenges.
struct PasskeyStore: Sendable {
    static let maximumPerUser = 20

    let postgres: PostgresClient

    // MARK: The relying party

    func relyingParty(in space: AppSpace) async throws -> RelyingParty? {
        try await postgres.query(
            """
            SELECT rp_id, rp_name, origins FROM auth.passkey_settings
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)
            """
        ).first.map { RelyingParty(id: try $0.decode(0), name: try $0.decode(1), origins: try $0.decode(2)) }
    }

    func setRelyingParty(_ party: RelyingParty, in space: AppSpace) async throws {
        try await postgres.execute(
            """
            INSERT INTO auth.passkey_settings (app_id, environment, rp_id, rp_name, origins)
            VALUES (\(space.appID), \(space.environment.rawValue), \(party.id), \(party.name), \(party.origins))
            ON CONFLICT (app_id, environment) DO UPDATE SET
                rp_id = excluded.rp_id, rp_name = excluded.rp_name, origins = excluded.origins, updated = now()
            """)
    }

    /// Removes the settings. The passkeys are kept but cannot be used until there are settings again.
    func removeRelyingParty(in space: AppSpace) async throws -> Bool {
        try await postgres.execute(
            "DELETE FROM auth.passkey_settings WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
        ) > 0
    }

    // MARK: Challenges

    /// - Parameter user: The user who adds a passkey or will get one on sign-up; nil for signing in.
    /// - Returns: 256 random bits.
    func makeChallenge(for purpose: PasskeyChallenge.Purpose, of user: UUID?, in space: AppSpace) async throws -> Data {
        let challenge = SymmetricKey(size: .init(bitCount: PasskeyChallenge.length * 8)).withUnsafeBytes { Data($0) }
        // Each call deletes a few expired challenges.
        try await postgres.execute(
            """
            WITH expired AS (
                DELETE FROM auth.passkey_challenges WHERE sha256 IN (
                    SELECT sha256 FROM auth.passkey_challenges WHERE expires < now() LIMIT 10 FOR UPDATE SKIP LOCKED)
            )
            INSERT INTO auth.passkey_challenges (sha256, app_id, environment, purpose, user_id, expires)
            VALUES (\(Self.digest(challenge)), \(space.appID), \(space.environment.rawValue), \(purpose.rawValue), \(user),
                now() + \(PasskeyChallenge.lifetimeInSeconds) * interval '1 second')
            """)
        return challenge
    }

    /// Whether a challenge for signing in is still valid. Does not consume the challenge.
    func isOpen(_ challenge: Data, in space: AppSpace) async throws -> Bool {
        try await !postgres.query(
            "SELECT FROM auth.passkey_challenges WHERE \(Self.isChallenge(challenge, for: .signIn, in: space))"
        ).isEmpty
    }

    /// The user that a challenge for signing up was created for; nil if the challenge is not valid.
    func newUser(of challenge: Data, in space: AppSpace) async throws -> UUID? {
        try await postgres.query(
            "SELECT user_id FROM auth.passkey_challenges WHERE \(Self.isChallenge(challenge, for: .signUp, in: space))"
        )
        .first?.decode(0)
    }

    private static func isChallenge(_ challenge: Data, for purpose: PasskeyChallenge.Purpose, in space: AppSpace)
        -> PostgresQuery
    {
        """
        sha256 = \(digest(challenge)) AND purpose = \(purpose.rawValue) AND app_id = \(space.appID)
            AND environment = \(space.environment.rawValue) AND expires > now()
        """
    }

    private static func digest(_ challenge: Data) -> Data { Data(SHA256.hash(data: challenge)) }

    // MARK: Signing in

    func find(_ credentialID: Data, in space: AppSpace) async throws -> StoredPasskey? {
        try await postgres.query(
            """
            SELECT id, user_id, public_key, sign_count FROM auth.passkeys
            WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND credential_id = \(credentialID)
            """
        ).first.map {
            StoredPasskey(
                id: try $0.decode(0), userID: try $0.decode(1), publicKey: try $0.decode(2), signCount: try $0.decode(3)
            )
        }
    }

    /// Consumes the proof's challenge and stores its count. Returns false if the challenge has been consumed already or
    /// the count did not increase.
    ///
    /// If an authenticator's count does not increase, there may be a copy of it (WebAuthn §6.1.1). Authenticators that
    /// do not count send 0.
    func use(_ proof: PasskeyCredential.Proof, by passkey: StoredPasskey, in space: AppSpace) async throws -> Bool {
        try await postgres.execute(
            """
            WITH taken AS (
                DELETE FROM auth.passkey_challenges WHERE \(Self.isChallenge(proof.challenge, for: .signIn, in: space)) RETURNING sha256
            )
            UPDATE auth.passkeys SET sign_count = \(proof.signCount), backed_up = \(proof.isBackedUp), last_used = now()
            WHERE id = \(passkey.id) AND EXISTS (SELECT FROM taken)
                AND (sign_count < \(proof.signCount) OR (sign_count = 0 AND \(proof.signCount) = 0))
            """) > 0
    }

    // MARK: Passkeys of a user

    /// Passkeys as JSON objects, oldest first.
    func list(of user: UUID, in space: AppSpace) async throws -> [String] {
        try await postgres.query(
            "SELECT \(Self.json) FROM auth.passkeys AS k WHERE \(Self.isOf(user, space)) ORDER BY created, id"
        )
        .map { try $0.decode(0) }
    }

    /// Credential ids and transports of the user's passkeys, so that an authenticator does not create a second passkey.
    func descriptors(of user: UUID, in space: AppSpace) async throws -> [(id: Data, transports: [String])] {
        try await postgres.query(
            "SELECT credential_id, transports FROM auth.passkeys AS k WHERE \(Self.isOf(user, space)) ORDER BY created, id"
        )
        .map { (id: try $0.decode(0), transports: try $0.decode(1)) }
    }

    /// Adds a passkey and consumes the challenge.
    ///
    /// - Parameter session: The calling session; nil for the app's server. The session must still be open in the
    ///   database, because the gateway learns of ended sessions with a delay. After a password change or a handover has
    ///   ended all sessions, the former holder must not add a passkey.
    /// - Returns: The passkey as JSON; nil if the challenge does not belong to the user or was used.
    /// - Throws: `conflict` if the passkey is already registered, for any user, or the user has too many;
    ///   `user-not-found` for a disabled user; `invalid-token` for an ended session.
    func add(_ passkey: NewPasskey, name: String, challenge: Data, of user: UUID, session: UUID?, in space: AppSpace)
        async throws -> String?
    {
        try await Self.mappingConflicts {
            try await postgres.withTransaction { transaction in
                // Serializes concurrent calls: the second one waits here and counts what the first has added.
                let exists = try await !transaction.query(
                    "SELECT FROM auth.users AS u WHERE id = \(user) AND \(UserStore.isIn(space)) AND NOT disabled FOR UPDATE"
                ).isEmpty
                guard exists else { throw ServiceError(.userNotFound) }
                if let session {
                    let isOpen = try await !transaction.query(
                        "SELECT FROM auth.sessions WHERE id = \(session) AND user_id = \(user) AND revoked IS NULL AND expires > now()"
                    ).isEmpty
                    guard isOpen else { throw ServiceError(.invalidToken, "The session has ended.") }
                }
                guard try await Self.consume(challenge, for: .registration, of: user, in: space, transaction) else {
                    return nil
                }
                let count: Int = try await transaction.query(
                    "SELECT count(*) FROM auth.passkeys AS k WHERE \(Self.isOf(user, space))")[0].decode(0)
                guard count < Self.maximumPerUser else {
                    throw ServiceError(
                        .conflict, "The user already has \(Self.maximumPerUser) passkeys; delete one first.")
                }
                return try await transaction.query(
                    "\(Self.insertion(of: passkey, name: name, of: user, in: space)) RETURNING \(Self.json)")[0].decode(
                        0)
            }
        }
    }

    /// Creates a user with a first passkey and a first session, and consumes the challenge.
    ///
    /// - Parameter needsVerifiedEmail: See `UserStore.create`.
    /// - Returns: The user's own view; nil if the challenge is not for this user or was used.
    /// - Throws: `conflict` if the name, the address or the passkey belongs to someone else; `invalid-body` for a
    ///   profile that is too large.
    func signUp(
        _ user: NewUser, passkey: NewPasskey, name: String, challenge: Data, session: NewSession,
        needsVerifiedEmail: Bool, in space: AppSpace
    ) async throws -> (json: String, isSignedIn: Bool)? {
        try await UserStore.mappingConflicts {
            try await Self.mappingConflicts {
                try await postgres.withTransaction { transaction in
                    guard try await Self.consume(challenge, for: .signUp, of: user.id, in: space, transaction) else {
                        return nil
                    }
                    let insertion = UserStore.insertion(
                        of: user, session: session, needsVerifiedEmail: needsVerifiedEmail, in: space)
                    guard let created = try await transaction.query(insertion).first else {
                        throw UserStore.wrongInvitation
                    }
                    try await transaction.execute(Self.insertion(of: passkey, name: name, of: user.id, in: space))
                    // The passkey is visible only to a later statement.
                    let row = try await transaction.query(
                        "SELECT \(UserStore.ownJSON) FROM auth.users AS u WHERE id = \(user.id)")[0]
                    return (try row.decode(0), try created.decode(1))
                }
            }
        }
    }

    private static func consume(
        _ challenge: Data, for purpose: PasskeyChallenge.Purpose, of user: UUID, in space: AppSpace,
        _ transaction: PostgresTransaction
    ) async throws -> Bool {
        try await transaction.execute(
            "DELETE FROM auth.passkey_challenges WHERE \(isChallenge(challenge, for: purpose, in: space)) AND user_id = \(user)"
        ) > 0
    }

    private static func insertion(of passkey: NewPasskey, name: String, of user: UUID, in space: AppSpace)
        -> PostgresQuery
    {
        """
        INSERT INTO auth.passkeys AS k (
            id, user_id, app_id, environment, credential_id, public_key, sign_count, backed_up, model, transports, name)
        VALUES (\(UUID(uuidString: UUIDv7.make()) ?? UUID()), \(user), \(space.appID), \(space.environment.rawValue), \(passkey.credentialID),
            \(passkey.publicKey), \(passkey.signCount), \(passkey.isBackedUp), \(passkey.model), \(passkey.transports), \(name))
        """
    }

    /// - Returns: The passkey as JSON; nil if the user has no such passkey.
    func rename(_ id: UUID, to name: String, of user: UUID, in space: AppSpace) async throws -> String? {
        try await postgres.query(
            "UPDATE auth.passkeys AS k SET name = \(name) WHERE id = \(id) AND \(Self.isOf(user, space)) RETURNING \(Self.json)"
        ).first?.decode(0)
    }

    /// Deletes a passkey. Returns false if the user has no such passkey.
    ///
    /// - Throws: `conflict` if it is the user's last way to sign in.
    func remove(_ id: UUID, of user: UUID, canSendMail: Bool, in space: AppSpace) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            // Serializes concurrent calls: the second one waits here and sees what the first has left.
            try await transaction.execute(
                "SELECT FROM auth.users AS u WHERE id = \(user) AND \(UserStore.isIn(space)) FOR UPDATE")
            let isGone =
                try await transaction.execute(
                    "DELETE FROM auth.passkeys AS k WHERE id = \(id) AND \(Self.isOf(user, space))") > 0
            guard isGone else { return false }
            try await UserStore.checkSignInIsLeft(to: user, canSendMail: canSendMail, transaction)
            return true
        }
    }

    func removeAll(of user: UUID, in space: AppSpace) async throws {
        try await postgres.execute("DELETE FROM auth.passkeys AS k WHERE \(Self.isOf(user, space))")
    }

    // MARK: SQL

    private static func isOf(_ user: UUID, _ space: AppSpace) -> PostgresQuery {
        "k.user_id = \(user) AND k.app_id = \(space.appID) AND k.environment = \(space.environment.rawValue)"
    }

    /// The JSON of the row `k`.
    static let json: PostgresQuery = """
        jsonb_build_object(
            'id', k.id, 'name', k.name, 'model', k.model, 'backedUp', k.backed_up, 'transports', to_jsonb(k.transports),
            'created', \(PostgresQuery.rfc3339("k.created")), 'lastUsed', \(PostgresQuery.rfc3339("k.last_used")))::text
        """

    private static func mappingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError where error.isUniqueViolation && error.constraint == "passkeys_credential" {
            throw ServiceError(.conflict, "This passkey is already registered.", field: "credential")
        }
    }
}
