import Logging
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// Taking in what happened.
struct Events: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, settings: EventSettings, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
}

/// `events.…`
struct EventSettings: Sendable {
    init() {}

    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {}
}
