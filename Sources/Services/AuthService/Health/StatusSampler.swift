import Foundation
import Logging
import MartletBackground
import MartletPostgres
import Synchronization

/// Samples the database, its statements and the waiting jobs about every minute, for the history and for metrics. Only
/// the copy of auth that holds the lease does so.
final class StatusSampler: PeriodicWork {
    let interval: Duration = .seconds(60)
    let logger: Logger
    private let store: StatusStore
    private let statements: StatementStore
    private let gauges = DatabaseGauges()
    private let health: ServerHealth
    private let now: @Sendable () -> Date
    private let copy = UUID()
    /// The counters of the last sample. Nil if another copy took the last sample, or there is none yet.
    private let last = Mutex<(time: ContinuousClock.Instant, figures: StatusStore.DatabaseFigures)?>(nil)
    private let counters = Mutex(StatementCounters())

    init(store: StatusStore, health: ServerHealth, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.store = store
        statements = StatementStore(postgres: store.postgres, timeLimit: store.timeLimit)
        self.health = health
        self.logger = logger
        self.now = now
    }

    func work() async throws {
        do {
            guard try await store.lease(to: copy) else {
                forget()
                return
            }
            try await sampleDatabase()
        } catch {
            gauges.clear()
            throw error
        }
        try await sampleStatements()
    }

    /// Another copy samples now.
    private func forget() {
        gauges.clear()
        last.withLock { $0 = nil }
        counters.withLock { $0 = StatementCounters() }
    }

    private func sampleDatabase() async throws {
        guard let (found, jobs) = await health.readDatabase(), let figures = try await store.databaseFigures() else {
            gauges.clear()
            return
        }
        gauges.set(try await statements.risks(), figures, sizeInBytes: found?.sizeInBytes)
        gauges.set(waiting: jobs)
        var values = [
            "database.locked": Double(figures.locked), "database.oldest": figures.oldest,
            "database.dead": figures.dead,
        ]
        if let found {
            values["database.size"] = found.sizeInBytes.map { Double($0) }
            values["database.connections"] = Double(found.connections)
            values["database.milliseconds"] = found.milliseconds
        }
        for (service, count) in jobs { values["jobs." + service] = Double(count) }
        values.merge(rates(figures)) { $1 }
        try await store.add(values, at: now())
    }

    private func sampleStatements() async throws {
        let counts = try await statements.counts()
        let samples =
            try await counts.isEmpty ? statements.runningSamples() : counters.withLock { $0.samples(from: counts) }
        try await statements.add(samples, at: now())
    }

    /// Transactions per second since the last sample. Empty if there is no last sample or the statistics were reset.
    private func rates(_ figures: StatusStore.DatabaseFigures) -> [String: Double] {
        let time = ContinuousClock.now
        let earlier = last.withLock { sample in
            defer { sample = (time: time, figures: figures) }
            return sample
        }
        guard let earlier else { return [:] }
        let seconds: Double = earlier.time.duration(to: time) / Duration.seconds(1)
        let committed = figures.committed - earlier.figures.committed
        let rolledBack = figures.rolledBack - earlier.figures.rolledBack
        guard seconds > 0, committed >= 0, rolledBack >= 0 else { return [:] }
        return [
            "database.transactions": Double(committed) / seconds, "database.rollbacks": Double(rolledBack) / seconds,
        ]
    }
}
