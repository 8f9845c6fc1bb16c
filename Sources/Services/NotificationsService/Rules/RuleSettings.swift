import Foundation
import MartletCore
import MartletHTTP

/// Where rules learn of changes, and whom they may tell.
struct RuleSettings: Sendable {
    var storage: ServiceAddress
    /// Whether webhooks may be at private, loopback and link-local addresses, and speak plain HTTP.
    var arePrivateAddressesAllowed = false
    /// How long an answer of storage is waited for, beside what storage itself waits for changes.
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

    /// Storage at its usual port on this machine.
    static let usual = RuleSettings(storage: ServiceAddress(.storage))
}
