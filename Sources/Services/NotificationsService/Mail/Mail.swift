import Logging
import MartletCore
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Mail of apps to people.
struct Mail: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, sealing: SealingKey, options: NotificationsOptions, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
    var handlers: [any JobHandler] { [] }
}
