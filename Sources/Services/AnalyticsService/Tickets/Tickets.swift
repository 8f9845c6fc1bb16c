import Logging
import MartletFiles
import MartletPostgres
import ServiceLifecycle

/// Tickets, sprints and the board.
struct Tickets: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, files: any FileBackend, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
}
