public import Foundation
public import Logging
public import MartletCore
public import MartletHTTP
import MartletJobs
public import MartletPostgres
public import ServiceLifecycle

/// Apps with their keys, the feed by which gateways know them, and the end users of apps.
///
/// Settings: `database.url` (secret; role `martlet_auth`), `database.connections` (4), `internal.secret` (secret), `password.concurrency`
/// (half the cores: passwords hashed at a time, each 19 MiB), `public.url` (http://127.0.0.1:8080: where clients reach the gateway),
/// `services.<name>` (each other service's usual port on this machine), `export.limit.bytes` (64 MiB: what a user may have gathered).
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
    /// The last step of ways to sign in without a password.
    let completion: SignInCompletion
    /// Makes the service's own keys from the internal secret.
    let keys: ServerKeys
    /// Where clients reach the gateway, without a slash at its end.
    let publicURL: String
    let jobs: JobQueue
    /// Deletions and exports of accounts.
    let userDataJobs: UserDataJobs
    private let worker: JobWorker

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-auth",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger),
            internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32), logger: logger,
            passwordConcurrency: try settings.integer("password.concurrency", default: PasswordHasher.defaultConcurrency, in: 1...64),
            publicURL: try settings.url("public.url", default: Self.defaultPublicURL), services: try ServiceAddress.all(settings),
            exportLimitInBytes: try settings.integer(
                "export.limit.bytes", default: Self.defaultExportLimitInBytes, in: 1...(1 << 40)))
    }

    public static let defaultPublicURL = URL(string: "http://127.0.0.1:8080")!
    public static let defaultExportLimitInBytes = 64 << 20

    public init(
        postgres: PostgresClient, internalSecret: Secret, logger: Logger, passwordConcurrency: Int = PasswordHasher.defaultConcurrency,
        publicURL: URL = defaultPublicURL, services: [ServiceAddress] = [], exportLimitInBytes: Int = defaultExportLimitInBytes
    ) {
        self.postgres = postgres
        self.logger = logger
        credentials = CredentialStore(postgres: postgres)
        feed = KeyRingFeed(store: KeyRingStore(postgres: postgres), postgres: postgres, logger: logger)
        users = UserStore(postgres: postgres)
        sessions = SessionStore(postgres: postgres)
        attempts = AttemptStore(postgres: postgres)
        hasher = PasswordHasher(concurrency: passwordConcurrency)
        keys = ServerKeys(internalSecret: internalSecret)
        self.publicURL = publicURL.absoluteString.trimmingSuffix("/")
        secondFactors = SecondFactorStore(postgres: postgres, keys: keys, logger: logger)
        signIns = SignIns(
            signingKeys: SigningKeys(store: SigningKeyStore(postgres: postgres, sealing: keys.sealing), logger: logger),
            refreshTokens: RefreshTokens(key: keys.refreshTokens))
        revocations = RevocationFeed(postgres: postgres, logger: logger)
        completion = SignInCompletion(
            sessions: sessions, secondFactor: SecondFactorCheck(attempts: attempts, secondFactors: secondFactors), signIns: signIns)
        jobs = JobQueue(postgres: postgres, schema: Self.name)
        userDataJobs = UserDataJobs(
            postgres: postgres, jobs: jobs, services: services, internalSecret: internalSecret, exportLimitInBytes: exportLimitInBytes)
        worker = JobWorker(queue: jobs, handlers: userDataJobs.handlers, configuration: JobWorker.Configuration(), logger: logger)
    }

    public var background: [any Service] {
        [
            postgres, feed, revocations, signIns.signingKeys, hasher, worker,
            Housekeeping(sessions: sessions, deletions: userDataJobs.deletions, logger: logger),
        ]
    }

    public var userData: any UserDataHolder { userDataJobs.account }

    public func isReady() async -> Bool {
        postgres.isReady && feed.current != nil && revocations.isReady && signIns.signingKeys.signer != nil
    }

    var logIn: LogIn {
        LogIn(users: users, sessions: sessions, attempts: attempts, hasher: hasher, secondFactor: completion.secondFactor, signIns: signIns)
    }

    var apps: AppStore { AppStore(postgres: postgres) }
    var passwordCheck: PasswordCheck { PasswordCheck(users: users, attempts: attempts, hasher: hasher) }
    var refreshSession: RefreshSession { RefreshSession(sessions: sessions, signIns: signIns, logger: logger) }
}

extension String {
    func trimmingSuffix(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}
