import Logging
import MartletHTTP
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// What sends by itself: changes of objects, times, crash alerts.
struct Rules: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, messages: Messages, options: NotificationsOptions, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
    var handlers: [any JobHandler] { [] }
}
