public import Logging
public import MartletCore
public import MartletHTTP
public import MartletPostgres
public import ServiceLifecycle

/// Apps with their keys, the feed by which gateways know them, and the end users of apps.
///
/// Settings: `database.url` (secret; role `martlet_auth`), `database.connections` (4), `internal.secret` (secret), `password.concurrency`
/// (half the cores: passwords hashed at a time, each 19 MiB).
public struct AuthService: ServiceDefinition {
    public static let name = "auth"
    public static let defaultPort = 8201

    private let postgres: PostgresClient
    private let logger: Logger
    let credentials: CredentialStore
    let feed: KeyRingFeed

    // Users
    let users: UserStore
    let sessions: SessionStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let secondFactors: SecondFactorStore
    let signIns: SignIns
    let revocations: RevocationFeed

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-auth",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger),
            internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32), logger: logger,
            passwordConcurrency: try settings.integer("password.concurrency", default: PasswordHasher.defaultConcurrency, in: 1...64))
    }

    public init(
        postgres: PostgresClient, internalSecret: Secret, logger: Logger, passwordConcurrency: Int = PasswordHasher.defaultConcurrency
    ) {
        self.postgres = postgres
        self.logger = logger
        credentials = CredentialStore(postgres: postgres)
        feed = KeyRingFeed(store: KeyRingStore(postgres: postgres), postgres: postgres, logger: logger)
        users = UserStore(postgres: postgres)
        sessions = SessionStore(postgres: postgres)
        attempts = AttemptStore(postgres: postgres)
        hasher = PasswordHasher(concurrency: passwordConcurrency)
        let keys = ServerKeys(internalSecret: internalSecret)
        secondFactors = SecondFactorStore(postgres: postgres, keys: keys, logger: logger)
        signIns = SignIns(
            signingKeys: SigningKeys(store: SigningKeyStore(postgres: postgres, sealing: keys.sealing), logger: logger),
            refreshTokens: RefreshTokens(key: keys.refreshTokens))
        revocations = RevocationFeed(postgres: postgres, logger: logger)
    }

    public var background: [any Service] {
        [postgres, feed, revocations, signIns.signingKeys, hasher, Housekeeping(sessions: sessions, logger: logger)]
    }

    public func isReady() async -> Bool {
        postgres.isReady && feed.current != nil && revocations.isReady && signIns.signingKeys.signer != nil
    }

    var logIn: LogIn {
        LogIn(users: users, sessions: sessions, attempts: attempts, hasher: hasher, secondFactors: secondFactors, signIns: signIns)
    }

    var apps: AppStore { AppStore(postgres: postgres) }
    var passwordCheck: PasswordCheck { PasswordCheck(users: users, attempts: attempts, hasher: hasher) }
    var refreshSession: RefreshSession { RefreshSession(sessions: sessions, signIns: signIns, logger: logger) }
}
