public import Foundation
import MartletCore
public import MartletHTTP
public import MartletMail

/// What the operator may say of the auth service, beside its database and the internal secret.
public struct AuthOptions: Sendable {
    /// Passwords hashed at a time, each 19 MiB.
    public var passwordConcurrency = PasswordHasher.defaultConcurrency
    /// Where clients reach the gateway.
    public var publicURL = URL(string: "http://127.0.0.1:8080")!
    public var store = StoreSettings()
    public var mail = MailSettings()
    /// Every other service, in the order in which data of a user is handed out.
    public var services: [ServiceAddress] = []
    /// What a user may have gathered.
    public var exportLimitInBytes = 64 << 20
    /// Whether identity providers may be at private addresses.
    public var arePrivateProvidersAllowed = false

    public init() {}

    /// Reads what the description of `AuthService` names.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        passwordConcurrency = try settings.integer("password.concurrency", default: passwordConcurrency, in: 1...64)
        publicURL = try settings.url("public.url", default: publicURL)
        store = try StoreSettings(settings)
        mail = try MailSettings(settings)
        services = try ServiceName.allCases.filter { $0 != .auth }.map { try ServiceAddress($0, settings) }
        exportLimitInBytes = try settings.integer("export.limit.bytes", default: exportLimitInBytes, in: 1...(1 << 40))
        arePrivateProvidersAllowed = try settings.flag("identity.private.allowed", default: arePrivateProvidersAllowed)
    }
}
