import Foundation
import Logging
import MartletBackground
import MartletPostgres
import Synchronization

/// Samples the database and the waiting jobs about every minute, for the history. Only the
/// copy of auth that holds the lease does so.
final class StatusSampler: PeriodicWork {
    let interval: Duration = .seconds(60)
    let logger: Logger
    private let store: StatusStore
    private let health: ServerHealth
    private let now: @Sendable () -> Date
    private let copy = UUID()
    /// The counters of the last sample. Nil if another copy took the last sample, or there is none yet.
    private let last = Mutex<(time: ContinuousClock.Instant, figures: StatusStore.DatabaseFigures)?>(nil)

    init(store: StatusStore, health: ServerHealth, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.health = health
        self.logger = logger
        self.now = now
    }

    func work() async throws {
        guard try await store.lease(to: copy) else {
            last.withLock { $0 = nil }
            return
        }
        guard let (found, jobs) = await health.readDatabase(), let figures = try await store.databaseFigures() else {
            return
        }
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
