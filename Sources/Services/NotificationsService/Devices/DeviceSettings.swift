import MartletHTTP

/// Settings of devices, all beginning with `push.`.
struct DeviceSettings: Sendable {
    var hosts = PushHosts()
    /// After so many days without a word of its app an installation is removed.
    var daysUnseen = 365

    init() {}

    /// Reads `push.installations.days` and what `PushHosts` reads.
    ///
    /// - Throws: `SettingsError`; what reading a file throws.
    init(_ settings: Settings) throws {
        hosts = try PushHosts(settings)
        daysUnseen = try settings.integer("push.installations.days", default: 365, in: 30...3_650)
    }
}
