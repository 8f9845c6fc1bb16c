import CoreMetrics
import NIOPosix
import Synchronization

/// Threads that digest reports, separate from those that serve requests, with a CPU budget for each report.
///
/// Work that exceeds its budget is cancelled and no longer awaited. A thread in the middle of a step cannot be stopped.
/// Such a thread counts as lost: the pool is replaced, and the thread ends with its step. When more than `maximumLost`
/// threads are lost, the pool is not replaced until some of them have ended.
final class DigestionThreads: Sendable {
    /// The report exceeded its CPU budget.
    struct OverBudget: Error, CustomStringConvertible {
        let budget: Duration

        var description: String { "Digesting the report took more than \(budget) of CPU time." }
    }

    private static let count = 2
    private static let maximumLost = 8
    private static let interval: Duration = .milliseconds(50)

    private struct State {
        var pool = DigestionThreads.pool()
        var lost = 0
        var running: [ObjectIdentifier: ReportMeter] = [:]
        var isWatching = false

        /// Returns the previous pool, which the caller must shut down.
        mutating func replacePool() -> NIOThreadPool {
            defer { pool = DigestionThreads.pool() }
            return pool
        }
    }

    private let state = Mutex(State())
    private let lost = Gauge(label: "martlet_analytics_crash_threads_lost")

    /// Number of threads still busy with work that exceeded its budget.
    var lostThreads: Int { state.withLock(\.lost) }

    deinit { state.withLock { $0.pool.shutdownGracefully { _ in } } }

    private static func pool() -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
        return pool
    }

    /// Runs work, including the child tasks it awaits, on these threads.
    ///
    /// - Throws: `OverBudget` after cancelling the work; otherwise what the work throws.
    func run<Value: Sendable>(upTo budget: Duration, _ work: @escaping @Sendable () async throws -> Value) async throws
        -> Value
    {
        let meter = ReportMeter(self, budget)
        let task = Task(executorPreference: meter) { try await work() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = FirstResult(continuation)
                watch(meter) {
                    outcome.give(.failure(OverBudget(budget: budget)))
                    task.cancel()
                }
                Task {
                    let result = await task.result
                    // Not removed earlier, because abandoned work may have kept threads busy until here.
                    forget(meter)
                    outcome.give(result)
                }
            }
        } onCancel: {
            task.cancel()
        }
    }

    fileprivate func submit(_ job: UnownedJob, _ meter: ReportMeter) {
        state.withLock(\.pool).submit { [self] state in
            switch state {
            case .active: meter.run(job)
            // The pool has been replaced.
            case .cancelled: submit(job, meter)
            }
        }
    }

    fileprivate func recoverThread() {
        let (old, count) = state.withLock { state -> (NIOThreadPool?, Int) in
            state.lost -= 1
            // The threads lost beyond the limit belong to the current pool.
            return (state.lost == Self.maximumLost ? state.replacePool() : nil, state.lost)
        }
        lost.record(count)
        old?.shutdownGracefully { _ in }
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
        // Breaks the cycle between the meter and its task.
        meter.onOverrun = nil
    }

    /// Checks the budgets of all running work until none is left.
    private func watch() async {
        while true {
            try? await Task.sleep(for: Self.interval)
            let meters = state.withLock { state in
                if state.running.isEmpty { state.isWatching = false }
                return Array(state.running.values)
            }
            if meters.isEmpty { return }
            for meter in meters where meter.giveUpBeyondBudget() { countLostThread() }
        }
    }

    private func countLostThread() {
        let (old, count) = state.withLock { state -> (NIOThreadPool?, Int) in
            state.lost += 1
            return (state.lost <= Self.maximumLost ? state.replacePool() : nil, state.lost)
        }
        lost.record(count)
        old?.shutdownGracefully { _ in }
    }
}

/// Runs the jobs of one report's work and adds up their CPU time.
private final class ReportMeter: TaskExecutor {
    private struct State {
        var spent = Duration.zero
        /// The jobs running now: the clock of the job's thread, and its time when the job began.
        var running: [Int: (clock: CPUClock, start: Duration)] = [:]
        var count = 0
        /// Whether the thread of a running job is counted as lost.
        var hasLostThread = false
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
        let isRecovered = state.withLock { state in
            if let part = state.running.removeValue(forKey: part) { state.spent += part.clock.time - part.start }
            guard state.hasLostThread, state.running.isEmpty else { return false }
            state.hasLostThread = false
            return true
        }
        if isRecovered { threads.recoverThread() }
    }

    /// Calls `onOverrun` once the budget is exceeded. Returns whether a thread is newly lost.
    func giveUpBeyondBudget() -> Bool {
        let (onOverrun, isLost) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
            let spent = state.running.values.reduce(state.spent) { $0 + $1.clock.time - $1.start }
            guard spent > budget, !state.hasLostThread else { return (nil, false) }
            state.hasLostThread = !state.running.isEmpty
            defer { state.onOverrun = nil }
            return (state.onOverrun, state.hasLostThread)
        }
        onOverrun?()
        return isLost
    }
}

/// Resumes a continuation with the first of several results.
private final class FirstResult<Value: Sendable>: Sendable {
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
