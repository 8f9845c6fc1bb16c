import CoreMetrics
import Logging
import MartletBackground
import ServiceLifecycle

/// Builds blocks from events that have been stored. Every instance tries; one works at a time.
///
/// Periods without blocks, because no instance ran or the installation had no blocks yet, are processed step by step,
/// the latest first. After each step the task sleeps as long as the step took, so it uses half a core at most.
final class BlockBuilder: Service {
    private static let interval: Duration = .seconds(30)
    /// How long a block that could not be built is skipped.
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
            var failed: [Int: ContinuousClock.Instant] = [:]
            await NotifiedLoop(every: Self.interval, jitter: 0.9...1.1, startsAtOnce: false).run {
                await self.round(skipping: &failed)
                return true
            }
        }
    }

    /// Plans and builds all blocks that are due. The round ends at a block that cannot be built; later rounds skip it
    /// and continue with the others.
    ///
    /// - Parameter failed: The blocks that could not be built, and until when they are skipped.
    func round(skipping failed: inout [Int: ContinuousClock.Instant]) async {
        failed = failed.filter { $0.value > .now }
        let skipped = Array(failed.keys)
        do {
            while try await throttled({ try await store.plan() }) {}
        } catch {
            warn("Could not plan event blocks; retrying in the next round.", error)
        }
        do {
            repeat {
                planned.record(try await store.planned())
            } while try await throttled { try await store.buildNext(except: skipped) }
        } catch let block as FailedBlock {
            failed[block.id] = .now + Self.pause
            warn(
                "Could not build an event block; skipping it for ten minutes.", block.cause, ["block.id": "\(block.id)"]
            )
        } catch {
            warn("Could not build event blocks; retrying in the next round.", error)
        }
    }

    private func warn(_ sentence: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        guard !Task.isCancelled else { return }
        logger.warning(sentence, metadata: metadata.merging(["error.cause": "\(error)"]) { $1 })
    }

    /// Performs a step, then sleeps as long as it took.
    private func throttled(_ step: () async throws -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        let isMore = try await step()
        try await Task.sleep(for: ContinuousClock.now - start)
        return isMore
    }
}
