import CoreMetrics
import NIOPosix
import Synchronization

/// Threads for work on reports, beside those that answer requests, with a budget of CPU time for each report.
///
/// Work beyond its budget is cancelled and no longer waited for. Nothing can stop a thread that is in the middle of a step, so the pool is replaced, and
/// the lost thread ends with its step. When more than `maximumLost` threads are lost, the pool is not replaced until some of them have ended.
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
        var pool = DigestionThreads.pool()
        var lost = 0
        var running: [ObjectIdentifier: ReportMeter] = [:]
        var isWatching = false

        /// Returns the pool that was there until now, to be shut down.
        mutating func replacePool() -> NIOThreadPool {
            defer { pool = DigestionThreads.pool() }
            return pool
        }
    }

    private let state = Mutex(State())
    private let lost = Gauge(label: "martlet_analytics_crash_threads_lost")

    /// How many threads are still busy with work beyond its budget.
    var lostThreads: Int { state.withLock(\.lost) }

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
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = FirstAnswer(continuation)
                watch(meter) {
                    answer.give(.failure(OverBudget(budget: budget)))
                    task.cancel()
                }
                Task {
                    let result = await task.result
                    // Not before: work that was given up may still keep threads busy.
                    forget(meter)
                    answer.give(result)
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
            // The threads have been replaced.
            case .cancelled: submit(job, meter)
            }
        }
    }

    fileprivate func threadCameBack() {
        let (old, count) = state.withLock { state -> (NIOThreadPool?, Int) in
            state.lost -= 1
            // The threads that were lost beyond the limit belong to the present pool.
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
        // It holds the task, which holds the meter.
        meter.onOverrun = nil
    }

    /// Checks the budgets of all running work, until there is none.
    private func watch() async {
        while true {
            try? await Task.sleep(for: Self.interval)
            let meters = state.withLock { state in
                if state.running.isEmpty { state.isWatching = false }
                return Array(state.running.values)
            }
            if meters.isEmpty { return }
            for meter in meters where meter.giveUpBeyondBudget() { loseThread() }
        }
    }

    private func loseThread() {
        let (old, count) = state.withLock { state -> (NIOThreadPool?, Int) in
            state.lost += 1
            return (state.lost <= Self.maximumLost ? state.replacePool() : nil, state.lost)
        }
        lost.record(count)
        old?.shutdownGracefully { _ in }
    }
}

/// Runs the parts of one report's work and adds up their CPU time.
private final class ReportMeter: TaskExecutor {
    private struct State {
        var spent = Duration.zero
        /// The parts that run now: the clock of the part's thread, and its time when the part began.
        var running: [Int: (clock: CPUClock, start: Duration)] = [:]
        var count = 0
        /// A thread that runs a part counts as lost.
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
        let cameBack = state.withLock { state in
            if let part = state.running.removeValue(forKey: part) { state.spent += part.clock.time - part.start }
            guard state.hasLostThread, state.running.isEmpty else { return false }
            state.hasLostThread = false
            return true
        }
        if cameBack { threads.threadCameBack() }
    }

    /// Calls `onOverrun` once the budget is used up. Returns whether a thread is newly lost.
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
