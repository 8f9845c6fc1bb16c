import CoreMetrics
import Foundation
import Logging
import MartletHTTP
import ServiceLifecycle
import Synchronization

/// A unit that was given something of an experiment.
struct Exposure: Sendable, Hashable {
    let space: ConfigSpace
    /// Its id: see `ExperimentDocument.id(of:from:)`.
    let experiment: String
    let bucketVersion: Int
    let variation: String
    /// `user:<id>` or `device:<id>`, hashed: see `ExposureStore.unit(_:_:)`.
    let unit: String
}

/// Writes exposures down behind the answers that they belong to, many at a time.
///
/// What this copy has written lately it does not write again; the table keeps each once in any case. While the database
/// is away as many wait as there is room for. Those beyond are counted and forgotten: they come again with the unit's
/// next request.
final class ExposureLog: Service {
    static let maximumWaiting = 20_000
    static let maximumPerStatement = 1_000
    /// What is known as written: two generations of this many.
    static let maximumKnown = 50_000
    private static let pause: Duration = .milliseconds(500)
    private static let cleaningPause: Duration = .seconds(10)

    private struct State {
        var waiting: [(exposure: Exposure, date: Date)] = []
        var known: Set<Exposure> = []
        var knownBefore: Set<Exposure> = []

        /// False: there is no room.
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
    private let dropped = Counter(label: "martlet_config_exposures_dropped_total")

    init(store: ExposureStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func record(_ assignments: [Assignment], in space: ConfigSpace, at date: Date = Date()) {
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
        // What was answered last, as long as the database takes it. A task of its own, as this one is cancelled.
        await Task { await self.flush() }.value
    }

    /// Takes away what belongs to experiments that were deleted, and what was on its way while a user was erased. Any
    /// copy may.
    func clean() async {
        do {
            while try await store.clean(limit: Self.maximumPerStatement) == Self.maximumPerStatement, !Task.isCancelled
            {}
        } catch {
            logger.debug("exposures not cleaned", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Writes what waits. What cannot be written waits on.
    func flush() async {
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
                    "exposures not written", metadata: ["exposures": "\(batch.count)", "error.cause": "\(error)"])
                return state.withLock { $0.waiting.insert(contentsOf: batch, at: 0) }
            }
        }
    }
}
