import Logging
import MartletBackground
import MartletPostgres
import MartletTesting
import ServiceLifecycle
import ServiceTesting
import Synchronization
import Testing

@Suite("Notified loop")
struct NotifiedLoopTests {
    @Test("The first step runs at once, the next after the interval.")
    func polls() async throws {
        try await TestLoop.with { loop in
            try await loop.reaches(1)
            try await loop.sleeps(.seconds(10))
            loop.clock.advance(by: .seconds(9))
            try await loop.sleeps(.seconds(1))
            #expect(loop.steps == 1)
            loop.clock.advance(by: .seconds(1))
            try await loop.reaches(2)
        }
    }

    @Test("A loop that does not start at once waits for the interval, shortened by the jitter.")
    func startsLater() async throws {
        try await TestLoop.with({
            NotifiedLoop(every: $0, jitter: 0.5...0.5, startsAtOnce: false, clock: $1)
        }) { loop in
            try await loop.sleeps(.seconds(5))
            #expect(loop.steps == 0)
            loop.clock.advance(by: .seconds(5))
            try await loop.reaches(1)
        }
    }

    @Test("A loop that does not start at once can be started by a signal.")
    func startsBySignal() async throws {
        try await TestLoop.with({ NotifiedLoop(every: $0, startsAtOnce: false, clock: $1) }) { loop in
            try await loop.sleeps(.seconds(10))
            loop.signal()
            try await loop.reaches(1)
        }
    }

    @Test("A signal ends the pause, and the next one is a whole interval again.")
    func signal() async throws {
        try await TestLoop.with { loop in
            try await loop.sleeps(.seconds(10))
            loop.clock.advance(by: .seconds(7))
            loop.signal()
            try await loop.reaches(2)
            try await loop.sleeps(.seconds(10))
        }
    }

    @Test("Signals during a step are one further step, and steps do not overlap.")
    func coalesces() async throws {
        try await TestLoop.with { loop in
            try await loop.sleeps(.seconds(10))
            loop.hold()
            loop.signal()
            try await loop.reaches(2)
            for _ in 0..<100 { loop.signal() }
            try await loop.hasForwarded(101)
            #expect(loop.steps == 2)
            loop.letGo()
            try await loop.reaches(3)
            try await loop.sleeps(.seconds(10))
            #expect(loop.steps == 3)
            #expect(loop.mostAtOnce == 1)
        }
    }

    @Test("When the signals end, the loop continues by polling.")
    func endOfSignals() async throws {
        try await TestLoop.with { loop in
            try await loop.sleeps(.seconds(10))
            loop.endSignals()
            for count in 2...4 {
                loop.clock.advance(by: .seconds(10))
                try await loop.reaches(count)
                try await loop.sleeps(.seconds(10))
            }
        }
    }

    @Test("Failed steps are repeated with growing pauses, never longer than the interval, until one succeeds.")
    func backsOff() async throws {
        try await TestLoop.with({ NotifiedLoop(every: $0, retries: .seconds(1) ... .seconds(60), clock: $1) }) { loop in
            try await loop.sleeps(.seconds(10))
            loop.fail()
            loop.clock.advance(by: .seconds(10))
            for (failures, seconds) in [1, 2, 4, 8, 10, 10].enumerated() {
                try await loop.reaches(2 + failures)
                try await loop.sleeps(.seconds(1))
                loop.clock.advance(by: .seconds(1))
                guard seconds > 1 else { continue }
                try await loop.sleeps(.seconds(seconds - 1))
                if failures == 5 { loop.succeed() }
                loop.clock.advance(by: .seconds(seconds - 1))
            }
            try await loop.reaches(8)
            try await loop.sleeps(.seconds(10))
            loop.fail()
            loop.clock.advance(by: .seconds(10))
            try await loop.sleeps(.seconds(1))
        }
    }

    @Test("A signal ends the pause after a failure, but not before the shortest pause is over.")
    func signalAfterFailure() async throws {
        try await TestLoop.with({ NotifiedLoop(every: $0, retries: .seconds(4) ... .seconds(4), clock: $1) }) { loop in
            try await loop.sleeps(.seconds(10))
            loop.fail()
            loop.signal()
            try await loop.reaches(2)
            try await loop.sleeps(.seconds(4))
            loop.signal()
            try await loop.hasForwarded(2)
            #expect(loop.steps == 2)
            loop.clock.advance(by: .seconds(4))
            try await loop.reaches(3)
        }
    }

    @Test("Without retries, a failed step is repeated after the interval.")
    func noRetries() async throws {
        try await TestLoop.with { loop in
            try await loop.sleeps(.seconds(10))
            loop.fail()
            loop.signal()
            try await loop.reaches(2)
            try await loop.sleeps(.seconds(10))
        }
    }

    @Test("A loop that is cancelled ends its pause.")
    func cancelledPause() async throws {
        try await TestLoop.with { loop in
            try await loop.sleeps(.seconds(10))
            await loop.cancel()
            #expect(loop.steps == 1)
            #expect(loop.clock.pauses.isEmpty)
        }
    }

    @Test("A loop that is cancelled waits for its step and runs no further one.")
    func cancelledStep() async throws {
        try await TestLoop.with { loop in
            try await loop.sleeps(.seconds(10))
            loop.hold()
            loop.signal()
            try await loop.reaches(2)
            loop.signal()
            loop.startCancelling()
            loop.letGo()
            await loop.cancel()
            #expect(loop.steps == 2)
        }
    }

    @Test("A graceful shutdown ends periodic work in its pause.")
    func shutdown() async throws {
        struct Work: PeriodicWork {
            let interval: Duration = .seconds(3_600)
            let logger = Logger.silent
            func work() async throws { Issue.record("The work must not run.") }
        }
        let group = ServiceGroup(services: [Work()], logger: .silent)
        async let end: Void = group.run()
        await group.triggerGracefulShutdown()
        try await end
    }

    @Test("Notifications of PostgreSQL run the step, also those sent while the listening connection was lost.")
    func notifications() async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "storage", maximumConnections: 2)
            let steps = Atomic(0)
            let loop = Task {
                await NotifiedLoop(every: .seconds(3_600), startsAtOnce: false).run(on: postgres.listen("martlet_test"))
                {
                    steps.add(1, ordering: .relaxed)
                    return true
                }
            }
            try await eventually("the loop listens") { steps.load(ordering: .relaxed) == 1 }
            try await postgres.execute("NOTIFY martlet_test")
            try await eventually("the notification runs the step") { steps.load(ordering: .relaxed) == 2 }
            try await postgres.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE query LIKE 'LISTEN%' AND datname = current_database() AND pid <> pg_backend_pid()
                """)
            try await eventually("the new connection runs the step") { steps.load(ordering: .relaxed) == 3 }
            loop.cancel()
            await loop.value
            await postgres.close()
        }
    }
}

@Suite("Attempts")
struct AttemptTests {
    private struct Refusal: Error {}

    @Test("A success is not logged.")
    func success() async {
        let log = TestLog()
        #expect(await attempt("It failed; retrying.", logger: log.logger) {})
        #expect(log.lines.isEmpty)
    }

    @Test("A failure is logged once, with its cause.")
    func failure() async {
        let log = TestLog()
        #expect(await !attempt("It failed; retrying.", metadata: ["work": "w"], logger: log.logger) { throw Refusal() })
        #expect(log.lines == ["warning It failed; retrying. error.cause=Refusal() work=w"])
    }

    @Test("The level can be chosen.")
    func level() async {
        let log = TestLog()
        await attempt("It failed; retrying.", level: .debug, logger: log.logger) { throw Refusal() }
        #expect(log.lines == ["debug It failed; retrying. error.cause=Refusal()"])
    }

    @Test("A failure of a cancelled task is not logged.")
    func cancelled() async {
        let log = TestLog()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await attempt("It failed; retrying.", logger: log.logger) { try Task.checkCancellation() }
        }
        #expect(await !task.value)
        #expect(log.lines.isEmpty)
    }
}

/// A loop of ten seconds on a clock that stands still.
private final class TestLoop: Sendable {
    private struct State {
        var steps = 0
        var running = 0
        var mostAtOnce = 0
        /// How often the loop has requested a signal: once more than it has received one.
        var asked = 0
        var fails = false
        var gate: AsyncStream<Void>?
    }

    let clock = ManualClock()
    private let state = Mutex(State())
    private let signals = AsyncStream.makeStream(of: Void.self)
    private let gate = Mutex<AsyncStream<Void>.Continuation?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    static func with(
        _ make: (Duration, any Clock<Duration>) -> NotifiedLoop = { NotifiedLoop(every: $0, clock: $1) },
        _ body: (TestLoop) async throws -> Void
    ) async throws {
        let test = TestLoop()
        let loop = make(.seconds(10), test.clock)
        let signals = CountedSignals(base: test.signals.stream) { test.state.withLock { $0.asked += 1 } }
        test.task.withLock { $0 = Task { await loop.run(on: signals) { await test.step() } } }
        do {
            try await body(test)
        } catch {
            test.letGo()
            await test.cancel()
            throw error
        }
        await test.cancel()
    }

    var steps: Int { state.withLock { $0.steps } }
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    func signal() { signals.continuation.yield() }
    func endSignals() { signals.continuation.finish() }
    func fail() { state.withLock { $0.fails = true } }
    func succeed() { state.withLock { $0.fails = false } }

    /// Makes steps wait until `letGo`.
    func hold() {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.gate = stream }
        gate.withLock { $0 = continuation }
    }

    func letGo() {
        state.withLock { $0.gate = nil }
        gate.withLock { $0 }?.finish()
    }

    func startCancelling() { task.withLock { $0 }?.cancel() }

    func cancel() async {
        startCancelling()
        await task.withLock { $0 }?.value
    }

    func reaches(_ count: Int) async throws { try await eventually("step \(count)") { steps >= count } }
    func sleeps(_ pause: Duration) async throws {
        try await eventually("it sleeps \(pause)") { clock.pauses == [pause] }
    }

    /// Waits until the loop has passed on so many signals in all.
    func hasForwarded(_ count: Int) async throws {
        try await eventually("\(count) signals are taken") { state.withLock { $0.asked } > count }
    }

    private func step() async -> Bool {
        let gate = state.withLock { state in
            state.steps += 1
            state.running += 1
            state.mostAtOnce = max(state.mostAtOnce, state.running)
            return state.gate
        }
        // In a task of its own, because a cancelled one would not wait.
        if let gate { await Task { for await _ in gate {} }.value }
        return state.withLock { state in
            state.running -= 1
            return !state.fails
        }
    }
}

/// Signals that count how often the next one is requested.
private struct CountedSignals: AsyncSequence, Sendable {
    let base: AsyncStream<Void>
    let didAsk: @Sendable () -> Void

    struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<Void>.Iterator
        let didAsk: @Sendable () -> Void

        mutating func next() async -> Void? {
            didAsk()
            return await base.next()
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Void? {
            didAsk()
            return await base.next(isolation: actor)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), didAsk: didAsk) }
}
