/// Repeats a step: at each signal, such as a notification from PostgreSQL, or after a time, whichever comes first.
///
/// Steps of one loop never overlap, so an older state cannot replace a newer one. Signals that arrive during a step are
/// coalesced into one further step. A signal is only a hint: if `LISTEN` is interrupted, or the signals end, the loop
/// continues by polling.
///
///     await cancelWhenGracefulShutdown {
///         await NotifiedLoop(every: .seconds(2), retries: .milliseconds(100) ... .seconds(2))
///             .run(on: postgres.listen("jobs")) {
///                 await attempt("Could not read the jobs; retrying.", logger: logger) { try await read() }
///             }
///     }
public struct NotifiedLoop: Sendable {
    private let interval: Duration
    private let jitter: ClosedRange<Double>
    private let startsAtOnce: Bool
    private let retries: ClosedRange<Duration>?
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - interval: The pause after a step, unless a signal ends it.
    ///   - jitter: The pause is multiplied by a random number of this range, so that instances that start together do
    ///     not stay in step.
    ///   - startsAtOnce: Whether the first step runs at once, or after a signal or the interval.
    ///   - retries: The pause after a failed step, which doubles from the lower to the upper bound while steps fail,
    ///     and is never longer than the interval. Signals do not shorten it below the lower bound. Without a range, a
    ///     failed step is repeated like any other.
    public init(
        every interval: Duration, jitter: ClosedRange<Double> = 1...1, startsAtOnce: Bool = true,
        retries: ClosedRange<Duration>? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.interval = interval
        self.jitter = jitter
        self.startsAtOnce = startsAtOnce
        self.retries = retries
        self.clock = clock
    }

    /// Runs until the task is cancelled, and returns once the step in progress has returned.
    ///
    /// - Parameter step: Returns whether it succeeded, as `attempt` does.
    public func run(
        on signals: some AsyncSequence<some Sendable, Never> & Sendable, _ step: () async -> Bool
    ) async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await _ in signals { wake.yield() }
            }
            await repeatStep(step, on: wakes, wake)
            group.cancelAll()
        }
    }

    /// Runs without signals until the task is cancelled, and returns once the step in progress has returned.
    public func run(_ step: () async -> Bool) async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await repeatStep(step, on: wakes, wake)
    }

    private func repeatStep(
        _ step: () async -> Bool, on wakes: AsyncStream<Void>, _ wake: AsyncStream<Void>.Continuation
    ) async {
        var wakes = wakes.makeAsyncIterator()
        var failures = 0
        var pause = startsAtOnce ? nil : jittered(interval)
        while !Task.isCancelled {
            if let pause {
                // Cancelled at the end of this scope if a signal came first.
                async let _: Void = wakeUp(wake, after: pause)
                guard await wakes.next() != nil else { return }
            }
            if Task.isCancelled { return }
            failures = await step() ? 0 : failures + 1
            pause = jittered(interval)
            if failures > 0, let retries {
                try? await clock.sleep(for: retries.lowerBound)
                pause = jittered(min(interval, retry(retries, after: failures))) - retries.lowerBound
            }
        }
    }

    private func wakeUp(_ wake: AsyncStream<Void>.Continuation, after pause: Duration) async {
        guard (try? await clock.sleep(for: pause)) != nil else { return }
        wake.yield()
    }

    private func retry(_ retries: ClosedRange<Duration>, after failures: Int) -> Duration {
        min(retries.upperBound, retries.lowerBound * (1 << min(failures - 1, 16)))
    }

    private func jittered(_ pause: Duration) -> Duration { pause * Double.random(in: jitter) }
}
