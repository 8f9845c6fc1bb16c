import Logging
import MartletHTTP
import ServiceLifecycle

/// Rolls events up behind the ingest, about every ten seconds. Every copy tries; one at a time does it.
///
/// What was missed, because nobody ran or events were restored, is made up for in steps of six hours, each its own
/// transaction.
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
            // A minute after the start: first what came meanwhile.
            var pruned = ContinuousClock.now - Self.intervalOfPruning + .seconds(60)
            while !Task.isCancelled {
                await self.attempt("events not rolled up") { _ = try await self.catchUp() }
                await self.attempt("days not made anew in another time zone") {
                    while try await self.store.followTimeZone() { _ = try await self.catchUp() }
                }
                if ContinuousClock.now - pruned >= Self.intervalOfPruning {
                    await self.attempt("old roll-ups not removed") {
                        try await self.store.prune()
                        try await self.requests.prune()
                    }
                    pruned = .now
                }
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
            }
        }
    }

    /// Everything that is there; returns how many events were rolled up. Nothing while another copy is at it.
    func catchUp() async throws -> Int {
        var count = 0
        while let step = try await store.step() {
            count += step.events
            if step.isLast { break }
        }
        return count
    }

    private func attempt(_ sentence: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning(sentence, metadata: ["error.cause": "\(error)"])
        }
    }
}
