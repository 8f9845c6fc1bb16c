import CoreMetrics
import NIOPosix
import Synchronization

/// Threads for work on reports, beside those that answer requests, with a budget of CPU time for each report.
///
/// What is beyond its budget is not waited for any longer. Nothing can stop a thread, so the threads are replaced and the one that is lost ends when its
/// step ends; so many may be lost at a time, then work waits for one of them.
final class DigestionThreads: Sendable {
    /// The report took more CPU time than it may.
    struct OverBudget: Error, CustomStringConvertible {
        let budget: Duration

        var description: String { "Digesting the report took more than \(budget) of CPU time." }
    }

    private static let count = 2
    private static let maximumLost = 8
    private static let interval: Duration = .milliseconds(50)

    private struct State {
        var pool: NIOThreadPool
        var lost = 0
        var running: [ObjectIdentifier: ReportMeter] = [:]
        var isWatching = false
    }

    private let state: Mutex<State>
    private let lost = Gauge(label: "martlet_analytics_crash_threads_lost")

    init() {
        state = Mutex(State(pool: Self.pool()))
    }

    deinit { state.withLock { $0.pool.shutdownGracefully { _ in } } }

    private static func pool() -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
        return pool
    }

    /// Runs work on these threads, with all that it starts and waits for.
    ///
    /// - Throws: `OverBudget`, and the work is cancelled; else what the work throws.
    func run<Value: Sendable>(upTo budget: Duration, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let meter = ReportMeter(self, budget)
        let task = Task(executorPreference: meter) { try await work() }
        defer { forget(meter) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = FirstAnswer(continuation)
                watch(meter) {
                    answer.give(.failure(OverBudget(budget: budget)))
                    task.cancel()
                }
                Task { answer.give(await task.result) }
            }
        } onCancel: {
            task.cancel()
        }
    }

    fileprivate func submit(_ job: UnownedJob, _ meter: ReportMeter) {
        state.withLock(\.pool).submit { [self] state in
            switch state {
            case .active: meter.run(job)
            // The threads have been replaced.
            case .cancelled: submit(job, meter)
            }
        }
    }

    fileprivate func threadCameBack() {
        lost.record(
            state.withLock { state in
                state.lost -= 1
                return state.lost
            })
    }

    private func watch(_ meter: ReportMeter, onOverrun: @escaping @Sendable () -> Void) {
        meter.onOverrun = onOverrun
        let isFirst = state.withLock { state in
            state.running[ObjectIdentifier(meter)] = meter
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if isFirst { Task { await watch() } }
    }

    private func forget(_ meter: ReportMeter) {
        state.withLock { $0.running[ObjectIdentifier(meter)] = nil }
    }

    /// Looks at what runs, until nothing does.
    private func watch() async {
        while true {
            try? await Task.sleep(for: Self.interval)
            let meters = state.withLock { state in
                if state.running.isEmpty { state.isWatching = false }
                return Array(state.running.values)
            }
            if meters.isEmpty { return }
            for meter in meters where meter.giveUpBeyondBudget() { replaceThreads() }
        }
    }

    private func replaceThreads() {
        let (old, count) = state.withLock { state -> (NIOThreadPool?, Int) in
            state.lost += 1
            guard state.lost <= Self.maximumLost else { return (nil, state.lost) }
            defer { state.pool = Self.pool() }
            return (state.pool, state.lost)
        }
        lost.record(count)
        old?.shutdownGracefully { _ in }
    }
}

/// Runs the parts of one report's work and adds up the CPU time that they take.
private final class ReportMeter: TaskExecutor {
    private struct State {
        var spent = Duration.zero
        /// Parts that run now, by when their threads' clocks say that they began.
        var running: [Int: (clock: CPUClock, start: Duration)] = [:]
        var count = 0
        var isGivenUp = false
        var onOverrun: (@Sendable () -> Void)?
    }

    private let threads: DigestionThreads
    private let budget: Duration
    private let state = Mutex(State())

    init(_ threads: DigestionThreads, _ budget: Duration) {
        self.threads = threads
        self.budget = budget
    }

    var onOverrun: (@Sendable () -> Void)? {
        get { state.withLock { $0.onOverrun } }
        set { state.withLock { $0.onOverrun = newValue } }
    }

    func enqueue(_ job: consuming ExecutorJob) { threads.submit(UnownedJob(job), self) }

    func run(_ job: UnownedJob) {
        let clock = CPUClock.ofThisThread
        let part = state.withLock { state in
            state.count += 1
            state.running[state.count] = (clock, clock.time)
            return state.count
        }
        job.runSynchronously(on: asUnownedTaskExecutor())
        let wasLost = state.withLock { state in
            if let part = state.running.removeValue(forKey: part) { state.spent += part.clock.time - part.start }
            return state.isGivenUp && state.running.isEmpty
        }
        if wasLost { threads.threadCameBack() }
    }

    /// Tells of it when the budget is used up, once. True: a thread is lost to it.
    func giveUpBeyondBudget() -> Bool {
        let (onOverrun, isLost) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
            let spent = state.running.values.reduce(state.spent) { $0 + $1.clock.time - $1.start }
            guard spent > budget, !state.isGivenUp else { return (nil, false) }
            state.isGivenUp = !state.running.isEmpty
            defer { state.onOverrun = nil }
            return (state.onOverrun, state.isGivenUp)
        }
        onOverrun?()
        return isLost
    }
}

/// Resumes a continuation by the first of several answers.
private final class FirstAnswer<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, any Error>?>

    init(_ continuation: CheckedContinuation<Value, any Error>) {
        self.continuation = Mutex(continuation)
    }

    func give(_ result: Result<Value, any Error>) {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume(with: result)
    }
}
