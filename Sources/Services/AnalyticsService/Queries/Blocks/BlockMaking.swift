import CoreMetrics
import Logging
import MartletHTTP
import ServiceLifecycle

/// Makes blocks behind the ingest. Every copy tries; one at a time does it.
///
/// What was missed, as nobody ran or the installation had no blocks yet, is made up for step by step, the latest first.
/// It rests as long as it works, so that it takes half a core at most.
final class BlockMaking: Service {
    private static let interval: Duration = .seconds(30)
    /// Until a block that could not be made is tried again.
    private static let pause: Duration = .seconds(600)

    let store: BlockStore
    private let logger: Logger
    private let planned = Gauge(label: "martlet_analytics_blocks_planned")

    init(store: BlockStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var unmade: [Int: ContinuousClock.Instant] = [:]
            while true {
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
                guard !Task.isCancelled else { return }
                await self.round(leaving: &unmade)
            }
        }
    }

    /// Plans and makes all there is. With a block that cannot be made the round ends, and those that follow go on with
    /// the others.
    ///
    /// - Parameter unmade: such blocks, and until when they are left alone.
    func round(leaving unmade: inout [Int: ContinuousClock.Instant]) async {
        unmade = unmade.filter { $0.value > .now }
        let others = Array(unmade.keys)
        do {
            while try await resting({ try await store.plan() }) {}
        } catch {
            warn("blocks of events not planned", error)
        }
        do {
            repeat {
                planned.record(try await store.planned())
            } while try await resting { try await store.make(except: others) }
        } catch let block as UnmadeBlock {
            unmade[block.id] = .now + Self.pause
            warn("a block of events not made", block.cause, ["block.id": "\(block.id)"])
        } catch {
            warn("blocks of events not made", error)
        }
    }

    private func warn(_ sentence: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        guard !Task.isCancelled else { return }
        logger.warning(sentence, metadata: metadata.merging(["error.cause": "\(error)"]) { $1 })
    }

    private func resting(_ step: () async throws -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        let isMore = try await step()
        try await Task.sleep(for: ContinuousClock.now - start)
        return isMore
    }
}
