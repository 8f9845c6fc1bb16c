import Foundation
import MartletCore
import MartletHTTP

/// How alerts are told.
struct AlertSettings: Sendable {
    let secrets: WebhookSecrets
    let internalSecret: Secret
    /// What alerts by notification rules are told to.
    var notifications = ServiceAddress(.notifications)
    /// Where clients reach the gateway: links in mail begin with it.
    var publicURL = URL(string: "http://127.0.0.1:8080")!
    /// Mail to staff; nil: by `notifications`.
    var mail: StaffMailOrders?
    /// Whether webhooks may be at private, loopback and link-local addresses, and speak plain HTTP: for servers of one's own network.
    var arePrivateAddressesAllowed = false
    /// How often to look for what is to be told.
    var interval: Duration = .seconds(5)
    /// How often an alert about a rate is looked at.
    var rateInterval: Duration = .seconds(30)

    /// - Parameter secret: webhooks' secrets are derived from it; services are called by it.
    init(secret: Secret) {
        secrets = WebhookSecrets(internalSecret: secret)
        internalSecret = secret
    }

    /// Reads `internal.secret`, `hooks.private.allowed`, `public.url` and `services.notifications`.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        self.init(secret: try settings.requiredSecret("internal.secret", minimumLength: 32))
        notifications = try ServiceAddress(.notifications, settings)
        publicURL = try settings.url("public.url", default: publicURL)
        arePrivateAddressesAllowed = try settings.flag("hooks.private.allowed", default: false)
    }
}
