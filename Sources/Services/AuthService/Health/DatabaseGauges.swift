import Metrics

/// The metrics `martlet_database_…` and `martlet_jobs_…`. Only the copy of auth that samples the database sets them; in
/// the others, and while the database does not answer, they are NaN, for which no alert fires.
struct DatabaseGauges: Sendable {
    private let size = Gauge(label: "martlet_database_size_bytes")
    private let connections = Gauge(label: "martlet_database_connections")
    private let maximumConnections = Gauge(label: "martlet_database_maximum_connections")
    private let locked = Gauge(label: "martlet_database_locked_sessions")
    private let oldest = Gauge(label: "martlet_database_oldest_transaction_seconds")
    private let transactionAge = Gauge(label: "martlet_database_transaction_age")
    private let archiveFails = Gauge(label: "martlet_database_archive_failing")
    private let slotSize = Gauge(label: "martlet_database_slot_bytes")

    init() { clear() }

    func set(_ risks: StatementStore.Risks, _ figures: StatusStore.DatabaseFigures, sizeInBytes: Int?) {
        size.record(sizeInBytes.map { Double($0) } ?? Double.nan)
        connections.record(Double(risks.connections))
        maximumConnections.record(Double(risks.maximumConnections))
        locked.record(Double(figures.locked))
        oldest.record(figures.oldest)
        transactionAge.record(Double(risks.transactionAge))
        archiveFails.record(risks.archiveFails ? 1.0 : 0.0)
        slotSize.record(Double(risks.slotSizeInBytes))
        for (service, seconds) in risks.oldestJobsInSeconds { Self.oldestJob(of: service).record(seconds) }
    }

    func set(waiting: [String: Int]) {
        for (queue, count) in waiting { Self.waitingJobs(of: queue).record(Double(count)) }
    }

    func clear() {
        for gauge in [size, connections, maximumConnections, locked, oldest, transactionAge, archiveFails, slotSize] {
            gauge.record(Double.nan)
        }
        for queue in StatusGroup.queues { Self.waitingJobs(of: queue).record(Double.nan) }
        for service in StatusGroup.servicesWithJobs { Self.oldestJob(of: service).record(Double.nan) }
    }

    private static func waitingJobs(of queue: String) -> Gauge {
        Gauge(label: "martlet_jobs_waiting", dimensions: [("queue", queue)])
    }

    private static func oldestJob(of queue: String) -> Gauge {
        Gauge(label: "martlet_jobs_oldest_seconds", dimensions: [("queue", queue)])
    }
}
