import Logging
import MartletFiles
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// Debug symbols, and addresses turned into lines by them.
struct Symbols: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, files: any FileBackend, settings: SymbolSettings, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
}

/// `symbols.…`
struct SymbolSettings: Sendable {
    init() {}

    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {}
}
