public import Foundation
public import Logging
public import MartletAPI
public import MartletCore
public import MartletHTTP
import MartletJobs
public import MartletPostgres
public import ServiceLifecycle

/// Apps and their keys, staff and the audit log, the end users of apps, and the feeds that gateways follow.
///
/// Settings, with their defaults:
/// - `database.url` (secret; role `martlet_auth`), `database.connections` (4), `internal.secret` (secret)
/// - `password.concurrency` (half the cores): the number of passwords hashed at a time, each taking 19 MiB
/// - `public.url` (http://127.0.0.1:8080): the URL at which clients reach the gateway
/// - `services.<name>`: the other services, by default at their usual ports on this machine
/// - `audit.days` (365): how long entries of the audit log are kept
/// - `backup.directory` (/var/lib/martlet-backup): where `martlet backup` keeps its records
/// - `export.limit.bytes` (64 MiB): the maximum size of a user's export
/// - `identity.private.allowed` (false): whether identity providers may have private addresses
/// - `store.lookup.url` (https://itunes.apple.com/lookup), `store.icon.domains` (mzstatic.com): see `StoreSettings`
/// - those of `MailSettings`
public struct AuthService: ServiceDefinition {
    public static let name = ServiceName.auth.rawValue
    public static let defaultPort = ServiceName.auth.port
    /// Most answers contain a token, a key or a code, so none is compressed (BREACH).
    public var compressesAnswers: Bool { false }

    let postgres: PostgresClient
    let logger: Logger
    let now: @Sendable () -> Date
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
    /// The last step of signing in without a password.
    let completion: SignInCompletion
    /// Derives the service's own keys from the internal secret.
    let keys: ServerKeys
    /// The URL at which clients reach the gateway, without a trailing slash.
    let publicURL: String
    let provider: Provider
    let passkeys: PasskeyStore
    let jobs: JobQueue
    let storeLookup: StoreLookup
    /// Deletions and exports of accounts.
    let userDataJobs: UserDataJobs
    let mailing: Mailing
    let health: ServerHealth
    /// Signing in with identity providers.
    let federation: Federation
    private let auditRetentionInDays: Int
    private let worker: JobWorker
    /// Runs `SignOutOfPush`. A separate worker, so that other jobs continue while notifications does not answer.
    private let signOutWorker: JobWorker
    /// Nil if no service stores users' documents.
    private let publishUsers: PublishUsers?

    public init(settings: Settings, logger: Logger) throws {
        let configuration = PostgresConfiguration(
            url: try settings.requiredSecret("database.url"), applicationName: "martlet-auth",
            maximumConnections: try settings.integer("database.connections", default: 4, in: 1...64))
        self.init(
            postgres: PostgresClient(configuration: configuration, logger: logger),
            internalSecret: try settings.requiredSecret("internal.secret", minimumLength: 32), logger: logger,
            options: try AuthOptions(settings))
    }

    /// - Parameter now: The clock.
    public init(
        postgres: PostgresClient, internalSecret: Secret, logger: Logger, options: AuthOptions = AuthOptions(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.now = now
        auditRetentionInDays = options.auditRetentionInDays
        self.postgres = postgres
        self.logger = logger
        credentials = CredentialStore(postgres: postgres)
        feed = KeyRingFeed(store: KeyRingStore(postgres: postgres), postgres: postgres, logger: logger, now: now)
        users = UserStore(postgres: postgres)
        sessions = SessionStore(postgres: postgres)
        attempts = AttemptStore(postgres: postgres)
        hasher = PasswordHasher(concurrency: options.passwordConcurrency)
        keys = ServerKeys(internalSecret: internalSecret)
        publicURL = options.publicURL.absoluteString.trimmingSuffix("/")
        secondFactors = SecondFactorStore(
            postgres: postgres, attempts: attempts, keys: keys, logger: logger, now: now)
        signIns = SignIns(
            signingKeys: SigningKeys(postgres: postgres, sealing: keys.sealing, logger: logger, now: now),
            refreshTokens: RefreshTokens(key: keys.refreshTokens),
            staffRefreshTokens: RefreshTokens(key: keys.staffRefreshTokens), now: now)
        revocations = RevocationFeed(postgres: postgres, logger: logger, now: now)
        storeLookup = StoreLookup(settings: options.store)
        provider = Provider(postgres: postgres, feed: feed, keys: keys, publicURL: publicURL, now: now)
        passkeys = PasskeyStore(postgres: postgres)
        jobs = JobQueue(postgres: postgres, schema: Self.name)
        federation = Federation(
            postgres: postgres, keys: keys, publicURL: publicURL, jobs: jobs,
            arePrivateAddressesAllowed: options.arePrivateProvidersAllowed,
            logger: logger, now: now)
        userDataJobs = UserDataJobs(
            postgres: postgres, jobs: jobs, revocation: federation.revocation, services: options.services,
            internalSecret: internalSecret,
            exportLimitInBytes: options.exportLimitInBytes)
        health = ServerHealth(
            postgres: postgres, services: options.services, backups: BackupRecords(directory: options.backupDirectory),
            timeLimit: options.statusTimeLimit)
        let calls = ServiceCalls(caller: Self.name, internalSecret: internalSecret)
        let notifications = options.services.first { $0.name == "notifications" }
        let bounceCheck = notifications.map {
            BounceCheck(notifications: $0, calls: calls, timeout: options.bounceCheckTimeout)
        }
        mailing = Mailing(
            options.mail, bounceCheck: bounceCheck, postgres: postgres, keys: keys, jobs: jobs, logger: logger,
            now: now)
        completion = SignInCompletion(
            sessions: sessions, secondFactors: secondFactors, signIns: signIns,
            notice: NewDeviceNotice(users: users, outbox: mailing.outbox))
        let handlers =
            userDataJobs.handlers + [
                mailing.handler(users: users, apps: AppStore(postgres: postgres)), federation.revokeToken,
                PublishAllUsers(changes: UserChangeStore(postgres: postgres)),
            ]
        publishUsers = options.services.first { $0.name == "storage" }.map { storage in
            PublishUsers(
                changes: UserChangeStore(postgres: postgres), calls: calls, storage: storage, logger: logger)
        }
        worker = JobWorker(queue: jobs, handlers: handlers, configuration: JobWorker.Configuration(), logger: logger)
        let signOut = SignOutOfPush(postgres: postgres, jobs: jobs, calls: calls, notifications: notifications)
        signOutWorker = JobWorker(queue: jobs, handlers: [signOut], logger: logger)
    }

    public var background: [any Service] {
        let housekeeping = Housekeeping(
            sessions: sessions, deletions: userDataJobs.deletions,
            codes: provider.codes,
            signInAddresses: signInAddresses, proofs: mailing.proofs, flows: federation.flows, audit: audit,
            auditRetentionInDays: auditRetentionInDays, status: status, statements: statements, now: now,
            logger: logger)
        let services: [any Service] = [
            postgres, feed, revocations, signIns.signingKeys, hasher, mailing.client, worker, signOutWorker,
            housekeeping, StatusSampler(store: status, health: health, logger: logger, now: now),
        ]
        return services + [publishUsers].compactMap(\.self)
    }

    public var userData: any UserDataHolder { userDataJobs.account }

    public var recordUsage: (@Sendable (UsageReport) async throws -> Void)? {
        let (store, clock) = (status, now)
        return { report in try await store.add(report.values, at: clock()) }
    }

    public func isReady() async -> Bool {
        // Tokens can be verified only after the keys that sign them are published.
        postgres.isReady && hasher.isRunning && !feed.idTokenKeys.isEmpty && revocations.isReady
            && signIns.signingKeys.isReady
    }

    var byPassword: PasswordSignIn {
        PasswordSignIn(
            users: users, sessions: sessions, attempts: attempts, signInAddresses: signInAddresses, hasher: hasher,
            completion: completion, settings: mailing.settings)
    }

    var issueTokens: IssueTokens {
        IssueTokens(
            issuers: provider.issuers, authentication: provider.authentication, codes: provider.codes,
            clientSessions: provider.clientSessions,
            sessions: sessions, tokens: provider.tokens, signingKeys: signIns.signingKeys, logger: logger,
            now: now)
    }

    private var signInAddresses: SignInAddressStore {
        SignInAddressStore(postgres: postgres, key: keys.signInAddresses)
    }
    var apps: AppStore { AppStore(postgres: postgres) }
    var versions: VersionStore { VersionStore(postgres: postgres) }
    var pictures: PictureStore { PictureStore(postgres: postgres) }
    var audit: AuditStore { AuditStore(postgres: postgres) }
    var status: StatusStore { StatusStore(postgres: postgres, timeLimit: health.timeLimit) }
    var statements: StatementStore { StatementStore(postgres: postgres, timeLimit: health.timeLimit) }
    /// The people who run the server.
    var staff: StaffStore { StaffStore(postgres: postgres) }
    var passwordCheck: PasswordCheck {
        PasswordCheck(users: users, sessions: sessions, attempts: attempts, hasher: hasher)
    }
    var staffPasswordCheck: StaffPasswordCheck {
        StaffPasswordCheck(staff: staff, attempts: attempts, hasher: hasher)
    }
    var secondFactorCheck: SecondFactorCheck {
        SecondFactorCheck(users: passwordCheck, staff: staffPasswordCheck, secondFactors: secondFactors)
    }
    var refreshSession: RefreshSession { RefreshSession(sessions: sessions, signIns: signIns, logger: logger) }
}

extension String {
    func trimmingSuffix(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}
