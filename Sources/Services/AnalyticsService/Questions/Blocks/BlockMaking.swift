import CoreMetrics
import Logging
import MartletHTTP
import ServiceLifecycle

/// Makes blocks behind the ingest. Every copy tries; one at a time does it.
///
/// What was missed, as nobody ran or the installation had no blocks yet, is made up for step by step, the latest first. It rests as long as it works,
/// so that it takes half a core at most.
final class BlockMaking: Service {
    private static let interval: Duration = .seconds(30)

    let store: BlockStore
    private let logger: Logger
    private let planned = Gauge(label: "martlet_analytics_blocks_planned")

    init(store: BlockStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while true {
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
                guard !Task.isCancelled else { return }
                do {
                    while try await self.resting({ try await self.store.plan() }) {}
                    self.planned.record(try await self.store.planned())
                    while try await self.resting({ try await self.store.make() }) { self.planned.record(try await self.store.planned()) }
                } catch {
                    if !Task.isCancelled { self.logger.warning("blocks of events not made", metadata: ["error.cause": "\(error)"]) }
                }
            }
        }
    }

    private func resting(_ step: () async throws -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        let isMore = try await step()
        try await Task.sleep(for: ContinuousClock.now - start)
        return isMore
    }
}
