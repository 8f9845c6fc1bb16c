import CoreMetrics
import Foundation
import Logging
import MartletCore
import ServiceLifecycle
import Synchronization

/// A unit that was given a variation of an experiment.
struct Exposure: Sendable, Hashable {
    let space: AppSpace
    /// The experiment's id; see `ExperimentDocument.id(of:from:)`.
    let experiment: String
    let bucketVersion: Int
    let variation: String
    /// The hash of `user:<id>` or `device:<id>`; see `ExposureStore.unit(_:_:)`.
    let unit: String
}

/// Writes exposures in batches, after their answers have been sent.
///
/// Exposures that this instance wrote recently are skipped; in any case the table keeps each only once. While the
/// database is unavailable, exposures wait in memory up to a limit. Exposures beyond the limit are counted and dropped;
/// the unit's next request records them again.
final class ExposureLog: Service {
    static let maximumWaiting = 20_000
    static let maximumPerStatement = 1_000
    /// The number of exposures per generation that are remembered as written; there are two generations.
    static let maximumKnown = 50_000
    private static let pause: Duration = .milliseconds(500)
    private static let cleaningPause: Duration = .seconds(10)

    private struct State {
        var waiting: [(exposure: Exposure, date: Date)] = []
        var known: Set<Exposure> = []
        var knownBefore: Set<Exposure> = []

        /// Returns false if the queue is full.
        mutating func take(_ exposure: Exposure, _ date: Date) -> Bool {
            guard !known.contains(exposure), !knownBefore.contains(exposure) else { return true }
            guard waiting.count < ExposureLog.maximumWaiting else { return false }
            if known.count >= ExposureLog.maximumKnown { (known, knownBefore) = ([], known) }
            known.insert(exposure)
            waiting.append((exposure, date))
            return true
        }
    }

    private let store: ExposureStore
    private let logger: Logger
    private let state = Mutex(State())
    /// One flush at a time.
    private let flushes = AsyncSemaphore(limit: 1, maximumWaiting: .max, refusal: CancellationError())
    private let dropped = Counter(label: "martlet_config_exposures_dropped_total")

    init(store: ExposureStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func record(_ assignments: [Assignment], in space: AppSpace, at date: Date) {
        for assignment in assignments {
            let exposure = Exposure(
                space: space, experiment: assignment.experimentID, bucketVersion: assignment.bucketVersion,
                variation: assignment.variation,
                unit: ExposureStore.unit(assignment.unit, assignment.unitID))
            if !state.withLock({ $0.take(exposure, date) }) { dropped.increment() }
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var next = ContinuousClock.now
            while !Task.isCancelled {
                await self.flush()
                if .now >= next {
                    await self.clean()
                    next = .now + Self.cleaningPause
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
        // Writes the last exposures if the database accepts them. Uses a new task, because this one is cancelled.
        await Task { await self.flush() }.value
    }

    /// Deletes exposures of deleted experiments, and exposures that were being written while their user was erased. Any
    /// instance may do this.
    func clean() async {
        do {
            while try await store.clean(limit: Self.maximumPerStatement) == Self.maximumPerStatement, !Task.isCancelled
            {}
        } catch {
            logger.debug("Could not delete obsolete exposures; retrying later.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Writes the queued exposures. Those that cannot be written stay in the queue. On return, no exposure recorded
    /// before the call is still being written, not even by another call. A cancelled task may write nothing.
    func flush() async {
        try? await flushes.withPermit { await write() }
    }

    private func write() async {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting.removeFirst(min(Self.maximumPerStatement, state.waiting.count)) }
                return Array(state.waiting.prefix(Self.maximumPerStatement))
            }
            guard !batch.isEmpty else { return }
            do {
                try await store.add(batch)
            } catch {
                logger.debug(
                    "Could not write exposures; retrying later.",
                    metadata: ["exposures": "\(batch.count)", "error.cause": "\(error)"])
                return state.withLock { $0.waiting.insert(contentsOf: batch, at: 0) }
            }
        }
    }
}
