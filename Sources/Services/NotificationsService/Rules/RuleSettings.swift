import Foundation
import MartletCore
import MartletHTTP

/// The settings of rules: the source of changes, and the webhook addresses allowed.
struct RuleSettings: Sendable {
    var storage: ServiceAddress
    /// Whether webhooks may use plain HTTP and private, loopback or link-local addresses.
    var arePrivateAddressesAllowed = false
    /// The timeout for answers of storage, in addition to the time for which storage waits for changes.
    var storageTimeout: Duration = .seconds(15)

    init(storage: ServiceAddress) {
        self.storage = storage
    }

    /// Reads `services.storage` and `hooks.private.allowed`.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        storage = try ServiceAddress(.storage, settings)
        arePrivateAddressesAllowed = try settings.flag("hooks.private.allowed", default: false)
    }

    /// Storage at its default port on this machine.
    static let standard = RuleSettings(storage: ServiceAddress(.storage))
}
