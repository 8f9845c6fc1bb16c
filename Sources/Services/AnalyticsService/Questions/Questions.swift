import Logging
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// Roll-ups of events, and the answers from them.
struct Questions: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
}
