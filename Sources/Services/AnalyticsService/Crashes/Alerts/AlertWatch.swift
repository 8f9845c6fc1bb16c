import Logging
import MartletJobs

/// Looks for what is to be told, from time to time. Any number of copies may.
struct AlertWatch: PeriodicWork {
    let firing: AlertFiring
    let interval: Duration
    let logger: Logger

    /// An alert that fails holds up no other.
    func work() async throws {
        while try await firing.announce() {}
        for id in try await firing.due() {
            do {
                try await firing.fire(id)
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning("an alert was not looked at", metadata: ["alert.id": "\(id)", "error.cause": "\(error)"])
            }
        }
    }
}

/// Forgets deliveries of long ago, and gives up those that nobody will try.
struct AlertHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    let deliveries: AlertDeliveryStore
    let logger: Logger

    func work() async throws { try await deliveries.prune() }
}
