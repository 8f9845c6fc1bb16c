import Logging
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// What is sent, to whom and when: messages, templates, segments, and the plan of who gets what.
struct Messages: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, devices: Devices, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
    var handlers: [any JobHandler] { [] }
}
