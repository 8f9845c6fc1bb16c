import Synchronization

/// Simulates a service that accepts calls but never answers. Calls wait until the test ends them.
public final class BlackHole: Sendable {
    private struct State {
        var callCount = 0
        var hanging: [CheckedContinuation<Void, Never>] = []
        var isOver = false
    }

    private let state = Mutex(State())

    public init() {}

    /// Number of calls so far.
    public var callCount: Int { state.withLock { $0.callCount } }

    /// A call, which returns when the test calls `end()`.
    public func call() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.callCount += 1
                if !state.isOver { state.hanging.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// Ends all calls, including later ones.
    public func end() {
        let hanging = state.withLock { state in
            state.isOver = true
            return state.hanging
        }
        for continuation in hanging { continuation.resume() }
    }
}
