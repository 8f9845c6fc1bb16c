import Logging
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// Crash reports: from the spool to issues.
struct Crashes: Sendable {
    let spaces: Spaces
    let life: IssueLife

    init(postgres: PostgresClient, spaces: Spaces, files: any FileBackend, settings: CrashSettings, logger: Logger) {
        self.spaces = spaces
        life = IssueLife(postgres: postgres, spaces: spaces, files: files, settings: settings, logger: logger)
    }

    var background: [any Service] { life.background }
}

/// `crashes.…`
struct CrashSettings: Sendable {
    var alerts = AlertSettings(secret: .random())

    init() {}

    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        alerts = try AlertSettings(settings)
    }
}
