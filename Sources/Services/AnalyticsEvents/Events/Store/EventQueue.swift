import CoreMetrics
import Logging
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// The rows that one request writes.
struct EventSubmission: Sendable {
    var rows: [EventRow]
    /// In the order in which they were sent.
    var links: [PeopleStore.Link] = []
    var traits: [PeopleStore.Traits] = []
    /// Approximate size, for the limits of the queue.
    var sizeInBytes: Int
}

/// Holds requests until their events are committed, and commits the events of many requests in one transaction.
///
/// A few writers take batches of a few hundred rows; while a statement runs, the next batch accumulates. A request is
/// answered only after its commit, so a crash loses nothing that was acknowledged; clients send the rest again.
final class EventQueue: Service {
    struct Limits: Sendable {
        var events = 20_000
        var sizeInBytes = 32 << 20
        /// A batch contains whole requests that together have at most this many events. A larger request forms a batch
        /// of its own.
        var maximumEventsPerBatch = 500
        var writers = 2
    }

    private let store: EventStore
    private let people: PeopleStore
    private let limits: Limits
    private let logger: Logger
    private let state = Mutex(State())
    /// The number of events in requests that have not been answered yet.
    var waitingEvents: Int { state.withLock { $0.events } }

    private let refused = Counter(label: "martlet_analytics_events_refused_total")
    private let written = Counter(label: "martlet_analytics_events_written_total")

    init(store: EventStore, people: PeopleStore, limits: Limits, logger: Logger) {
        self.store = store
        self.people = people
        self.limits = limits
        self.logger = logger
    }

    /// Returns once the events are committed.
    ///
    /// - Throws: `too-many-requests` when the queue is full, `unavailable` during shutdown; `PostgresError`.
    func write(_ submission: EventSubmission) async throws {
        guard !submission.rows.isEmpty || !submission.links.isEmpty || !submission.traits.isEmpty else { return }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let waiting = Waiting(submission: submission, continuation: continuation)
            let (refusal, wake) = state.withLock { $0.take(waiting, limits) }
            if let refusal {
                refused.increment(by: submission.rows.count)
                continuation.resume(throwing: refusal)
            }
            wake?.writer.resume(returning: wake?.batch)
        }
    }

    func run() async throws {
        await withTaskCancellationOrGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<limits.writers {
                    group.addTask {
                        while let batch = await self.next() { await self.write(batch) }
                    }
                }
            }
        } onCancelOrGracefulShutdown: {
            self.close()
        }
    }

    /// Refuses further requests. Requests already in the queue are still written.
    private func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for writer in idle { writer.resume(returning: nil) }
    }

    /// Waits for the next batch; nil if the queue is closed and empty.
    private func next() async -> [Waiting]? {
        await withCheckedContinuation { continuation in
            let batch = state.withLock { state -> [Waiting]?? in
                let batch = state.batch(limits)
                if !batch.isEmpty { return .some(batch) }
                if state.isClosed { return .some(nil) }
                state.idle.append(continuation)
                return nil
            }
            if let batch { continuation.resume(returning: batch) }
        }
    }

    private func write(_ batch: [Waiting]) async {
        // An unstructured task, so that neither shutdown nor cancellation interrupts a write.
        await Task {
            do {
                try await commit(batch.map(\.submission))
                settle(batch, nil)
            } catch let error as PostgresError where batch.count > 1 && error.isAboutData {
                // A bad value in one request must not make the others fail, so each is written separately.
                for waiting in batch { await write([waiting]) }
            } catch {
                let count = batch.reduce(0) { $0 + $1.submission.rows.count }
                logger.warning(
                    "Could not write events; their requests fail.",
                    metadata: ["events": "\(count)", "error.cause": "\(error)"])
                settle(batch, error)
            }
        }.value
    }

    private func settle(_ batch: [Waiting], _ error: (any Error)?) {
        state.withLock { state in
            for waiting in batch { state.forget(waiting.submission) }
        }
        for waiting in batch {
            if let error { waiting.continuation.resume(throwing: error) } else { waiting.continuation.resume() }
        }
    }

    /// Writes persons first, so that a stored event always comes with its links and traits.
    private func commit(_ submissions: [EventSubmission]) async throws {
        try await people.record(submissions.flatMap(\.links))
        try await people.record(submissions.flatMap(\.traits))
        let rows = submissions.flatMap(\.rows)
        do {
            try await store.insert(rows)
        } catch let error as PostgresError where error.code == .connectionLost || error.isSerializationFailure {
            // The transaction may or may not have committed; `isRepeated` skips rows that are already there.
            try await store.insert(rows, isRepeated: true)
        }
        written.increment(by: rows.count)
    }
}

extension PostgresError {
    /// Whether PostgreSQL rejected a value (class 22 or 23), so that only one request is at fault.
    fileprivate var isAboutData: Bool { sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("23") } ?? false }
}
