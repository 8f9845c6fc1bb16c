public import Foundation
import MartletCore
public import MartletHTTP
public import MartletMail

/// The operator's options for the auth service, apart from its database and the internal secret.
public struct AuthOptions: Sendable {
    /// The maximum number of passwords hashed at a time; each takes 19 MiB.
    public var passwordConcurrency = PasswordHasher.defaultConcurrency
    /// The URL at which clients reach the gateway.
    public var publicURL = URL(string: "http://127.0.0.1:8080")!
    public var store = StoreSettings()
    public var mail = MailSettings()
    /// All other services, in the order in which a user's data is exported.
    public var services: [ServiceAddress] = []
    /// The time limit for looking up whether earlier mail to an address bounced.
    public var bounceCheckTimeout: Duration = .seconds(2)
    /// The time limit of each statement and each request that reads the server's status.
    public var statusTimeLimit: Duration = .seconds(2)
    /// The maximum size of a user's export.
    public var exportLimitInBytes = 64 << 20
    /// How long entries of the audit log are kept.
    public var auditRetentionInDays = 365
    /// Whether identity providers may have private addresses.
    public var arePrivateProvidersAllowed = false
    /// Where the package's `martlet backup` keeps its records.
    public var backupDirectory = "/var/lib/martlet-backup"

    public init() {}

    /// Reads the settings listed at `AuthService`.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        passwordConcurrency = try settings.integer("password.concurrency", default: passwordConcurrency, in: 1...64)
        publicURL = try settings.url("public.url", default: publicURL)
        store = try StoreSettings(settings)
        mail = try MailSettings(settings)
        services = try ServiceName.allCases.filter { $0 != .auth }.map { try ServiceAddress($0, settings) }
        exportLimitInBytes = try settings.integer("export.limit.bytes", default: exportLimitInBytes, in: 1...(1 << 40))
        auditRetentionInDays = try settings.integer("audit.days", default: auditRetentionInDays, in: 30...36_500)
        arePrivateProvidersAllowed = try settings.flag("identity.private.allowed", default: arePrivateProvidersAllowed)
        backupDirectory = settings.string("backup.directory", default: backupDirectory)
    }
}
