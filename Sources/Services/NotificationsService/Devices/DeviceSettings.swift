import MartletHTTP

/// The settings for devices; all keys begin with `push.`.
struct DeviceSettings: Sendable {
    var hosts = PushHosts()
    /// An installation is removed when its app has not contacted the server for this many days.
    var daysUnseen = 365

    init() {}

    /// Reads `push.installations.days` and the settings of `PushHosts`.
    ///
    /// - Throws: `SettingsError`, or an error from reading a file.
    init(_ settings: Settings) throws {
        hosts = try PushHosts(settings)
        daysUnseen = try settings.integer("push.installations.days", default: 365, in: 30...3_650)
    }
}
