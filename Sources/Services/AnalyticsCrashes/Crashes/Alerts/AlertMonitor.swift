import Logging
import MartletBackground

/// Periodically looks for alerts to fire. Any number of instances may run it.
struct AlertMonitor: PeriodicWork {
    let firing: AlertFiring
    let interval: Duration
    let logger: Logger

    /// A failing alert does not hold up the others.
    func work() async throws {
        while try await firing.announce() {}
        for id in try await firing.due() {
            do {
                try await firing.fire(id)
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning(
                    "Could not evaluate an alert; retrying at the next check.",
                    metadata: ["alert.id": "\(id)", "error.cause": "\(error)"])
            }
        }
    }
}

/// Deletes old deliveries, and marks deliveries that have lost their job as dead.
struct AlertHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    let deliveries: AlertDeliveryStore
    let logger: Logger

    func work() async throws { try await deliveries.prune() }
}
