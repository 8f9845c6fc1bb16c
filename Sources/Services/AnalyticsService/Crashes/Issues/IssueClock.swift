import Logging
import MartletJobs

/// Brings ignored issues back whose time is over. Any number of copies may do it.
struct IssueClock: PeriodicWork {
    let interval: Duration = .seconds(30)
    let changes: IssueChanges
    let logger: Logger

    func work() async throws {
        while try await changes.endIgnoring() == IssueChanges.maximumPerCall {}
    }
}

/// Removes reports that are older than their space keeps them. Any number of copies may do it.
struct ReportAgeing: PeriodicWork {
    let interval: Duration = .seconds(600)
    let retention: SpaceRetention
    let logger: Logger

    func work() async throws {
        while try await retention.prune() > 0 {}
    }
}
