import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// What push services know an app by, and the app's installations on devices.
struct Devices: Sendable {
    let spaces: Spaces

    init(postgres: PostgresClient, spaces: Spaces, sealing: SealingKey, logger: Logger) {
        self.spaces = spaces
    }

    var background: [any Service] { [] }
}
