import Logging
import MartletBackground

/// Reopens ignored issues whose ignore period has ended. Any number of instances may run it.
struct IgnoreExpiry: PeriodicWork {
    let interval: Duration = .seconds(30)
    let changes: IssueChanges
    let logger: Logger

    func work() async throws {
        while try await changes.endIgnoring() == IssueChanges.maximumPerCall {}
    }
}

/// Deletes reports older than their space's retention period. Any number of instances may run it.
struct ReportExpiry: PeriodicWork {
    let interval: Duration = .seconds(600)
    let retention: SpaceRetention
    let logger: Logger

    func work() async throws {
        while try await retention.prune() > 0 {}
    }
}
