import AnalyticsShared
import Foundation
import Logging
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Crash alerts: the rules, their evaluation and their delivery.
struct Alerts: Sendable {
    let store: AlertStore
    let deliveries: AlertDeliveryStore
    let firing: AlertFiring
    let target: any AlertTarget
    let testCalls: AlertTestCalls
    private let settings: AlertSettings
    private let logger: Logger

    init(
        postgres: PostgresClient, queue: JobQueue, settings: AlertSettings, staff: StaffDirectory, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.settings = settings
        self.logger = logger
        store = AlertStore(postgres: postgres, secrets: settings.secrets)
        deliveries = AlertDeliveryStore(postgres: postgres, queue: queue)
        firing = AlertFiring(postgres: postgres, deliveries: deliveries, rateInterval: settings.rateInterval)
        target = AlertTargets(settings, staff: staff)
        testCalls = AlertTestCalls(now: now)
    }

    var background: [any Service] {
        [
            AlertMonitor(firing: firing, interval: settings.interval, logger: logger),
            AlertHousekeeping(deliveries: deliveries, logger: logger),
        ]
    }

    var handlers: [any JobHandler] { [DeliverAlert(store: store, deliveries: deliveries, target: target)] }
}
