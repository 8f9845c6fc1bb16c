import Foundation
import MartletCore
import MartletHTTP

/// Settings of the delivery of alerts.
struct AlertSettings: Sendable {
    let secrets: WebhookSecrets
    let internalSecret: Secret
    /// Receives the alerts that trigger notification rules.
    var notifications = ServiceAddress(.notifications)
    /// The gateway's public address, with which links in mail begin.
    var publicURL = URL(string: "http://127.0.0.1:8080")!
    /// Sends mail to staff; nil uses `notifications`.
    var mail: StaffMailOrders?
    /// Allows webhooks at private, loopback and link-local addresses and over plain HTTP, for servers in the operator's
    /// own network.
    var arePrivateAddressesAllowed = false
    /// How often to look for due alerts.
    var interval: Duration = .seconds(5)
    /// How often a rate is evaluated.
    var rateInterval: Duration = .seconds(30)

    /// - Parameter secret: Derives the webhooks' secrets and authenticates calls to other services.
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
