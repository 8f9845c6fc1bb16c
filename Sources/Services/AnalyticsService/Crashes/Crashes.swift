import Logging
import MartletFiles
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// Crash reports: from the spool to issues.
struct Crashes: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, files: any FileBackend, settings: CrashSettings, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
}

/// `crashes.…`
struct CrashSettings: Sendable {
    init() {}

    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {}
}
