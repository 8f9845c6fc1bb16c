import CoreMetrics
import Logging
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// What one request wants written.
struct EventSubmission: Sendable {
    var rows: [EventRow]
    /// In the order in which they were said.
    var links: [PeopleStore.Link] = []
    var traits: [PeopleStore.Traits] = []
    /// For the bounds of the queue.
    var sizeInBytes: Int
}

/// Where requests wait until their events are committed, many requests in one transaction.
///
/// A few writers take whatever waits, up to some hundred rows: while a statement is on its way the next one gathers.
/// Nothing that was answered is lost with this process; what it had not answered yet its client sends again.
final class EventQueue: Service {
    struct Limits: Sendable {
        var events = 20_000
        var sizeInBytes = 32 << 20
        /// A statement takes requests as a whole until it has as many, and one of a request that has more alone.
        var eventsPerStatement = 500
        var writers = 2
    }

    private let store: EventStore
    private let people: PeopleStore
    private let limits: Limits
    private let logger: Logger
    private let state = Mutex(State())
    /// Events of requests that have no answer yet.
    var waitingEvents: Int { state.withLock { $0.events } }

    private let refused = Counter(label: "martlet_analytics_events_refused_total")
    private let written = Counter(label: "martlet_analytics_events_written_total")

    init(store: EventStore, people: PeopleStore, limits: Limits, logger: Logger) {
        self.store = store
        self.people = people
        self.limits = limits
        self.logger = logger
    }

    /// Returns when the events are committed.
    ///
    /// - Throws: `too-many-requests` when too much waits, `unavailable`; `PostgresError`.
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

    /// Takes nothing more; what waits is still written.
    private func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for writer in idle { writer.resume(returning: nil) }
    }

    /// Waits until there is something; nil: there will be nothing more.
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
        // Neither shutting down nor anything else takes back what was begun.
        await Task {
            do {
                try await commit(batch.map(\.submission))
                settle(batch, nil)
            } catch let error as PostgresError where batch.count > 1 && error.isAboutData {
                // One request shall not be refused for what is in another.
                for waiting in batch { await write([waiting]) }
            } catch {
                let count = batch.reduce(0) { $0 + $1.submission.rows.count }
                logger.warning(
                    "Events could not be written.", metadata: ["events": "\(count)", "error.cause": "\(error)"])
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

    /// Persons first: an event that is there is there with all that came with it.
    private func commit(_ submissions: [EventSubmission]) async throws {
        try await people.note(submissions.flatMap(\.links))
        try await people.note(submissions.flatMap(\.traits))
        let rows = submissions.flatMap(\.rows)
        do {
            try await store.insert(rows)
        } catch let error as PostgresError where error.code == .connectionLost || error.isSerializationFailure {
            // Whether it was done or not: what is there is found.
            try await store.insert(rows, isRepeated: true)
        }
        written.increment(by: rows.count)
    }
}

extension PostgresError {
    /// Whether a value was refused (class 22, 23), not the whole.
    fileprivate var isAboutData: Bool { sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("23") } ?? false }
}
