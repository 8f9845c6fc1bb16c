import Synchronization

/// A clock that stands still until it is advanced.
final class ManualClock: Clock {
    typealias Instant = ContinuousClock.Instant

    private struct State {
        var now = ContinuousClock.now
        var last = 0
        var sleepers: [Int: (deadline: Instant, end: AsyncStream<Void>.Continuation)] = [:]
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    let minimumResolution: Duration = .zero

    /// How long each sleeper has yet to wait, the shortest time first.
    var pauses: [Duration] {
        state.withLock { state in state.sleepers.values.map { $0.deadline - state.now }.sorted() }
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            return state.sleepers.values.filter { $0.deadline <= state.now }
        }
        for sleeper in due { sleeper.end.finish() }
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        let number = state.withLock { state in
            state.last += 1
            if deadline <= state.now { end.finish() } else { state.sleepers[state.last] = (deadline, end) }
            return state.last
        }
        // Ends when the task is cancelled, too.
        for await _ in stream {}
        _ = state.withLock { $0.sleepers.removeValue(forKey: number) }
        try Task.checkCancellation()
    }
}
