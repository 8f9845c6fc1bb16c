import Foundation
import Logging
import MartletPostgres
import ServiceLifecycle

/// Delivers planned messages to devices: the queue, the push services and the results.
struct Delivery: Sendable {
    let sender: DeliverySender
    let records: DeliveryRecords

    init(
        postgres: PostgresClient, spaces: Spaces, devices: Devices, settings: DeliverySettings, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        sender = DeliverySender(
            queue: DeliveryQueue(postgres: postgres), messageCache: MessageCache(postgres: postgres),
            transport: PushTransport(credentials: devices.credentials, clients: devices.clients),
            installations: devices.installations,
            settings: settings, logger: logger, now: now)
        records = DeliveryRecords(postgres: postgres)
    }

    var background: [any Service] { [sender] }
}
