import Logging
import MartletBackground
import ServiceLifecycle

/// Rolls up stored events about every ten seconds. Every instance tries; one works at a time.
///
/// Periods that are not rolled up, because no instance ran or events were restored, are processed in steps of six
/// hours, each in a separate transaction.
final class RollUp: Service {
    private static let interval: Duration = .seconds(10)
    private static let intervalOfPruning: Duration = .seconds(3_600)

    let store: RollUpStore
    private let requests: RequestCountStore
    private let logger: Logger

    init(store: RollUpStore, requests: RequestCountStore, logger: Logger) {
        self.store = store
        self.requests = requests
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Prunes a minute after the start, so that missed events are rolled up first.
            var pruned = ContinuousClock.now - Self.intervalOfPruning + .seconds(60)
            await NotifiedLoop(every: Self.interval, jitter: 0.9...1.1).run {
                await attempt("Could not roll up events; retrying in ten seconds.", logger: self.logger) {
                    _ = try await self.catchUp()
                }
                await attempt(
                    "Could not rebuild days in a new time zone; retrying in ten seconds.", logger: self.logger
                ) {
                    while try await self.store.followTimeZone() { _ = try await self.catchUp() }
                }
                if ContinuousClock.now - pruned >= Self.intervalOfPruning {
                    await attempt("Could not delete old roll-ups; retrying in an hour.", logger: self.logger) {
                        try await self.store.prune()
                        try await self.requests.prune()
                    }
                    pruned = .now
                }
                return true
            }
        }
    }

    /// Rolls up all stored events; returns their number. Does nothing while another instance works.
    func catchUp() async throws -> Int {
        var count = 0
        while let step = try await store.step() {
            count += step.events
            if step.isLast { break }
        }
        return count
    }
}
