import Logging
import MartletPostgres
import ServiceLifecycle

/// The way of planned messages to devices: the queue, the push services, and what became of each.
struct Delivery: Sendable {
    init(postgres: PostgresClient, spaces: Spaces, devices: Devices, settings: DeliverySettings, logger: Logger) {}

    var background: [any Service] { [] }
}
