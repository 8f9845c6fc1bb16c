import Synchronization

/// Stands for a service that takes questions and never answers: what is asked hangs until the test says that its time is up.
public final class BlackHole: Sendable {
    private struct State {
        var asked = 0
        var hanging: [CheckedContinuation<Void, Never>] = []
        var isOver = false
    }

    private let state = Mutex(State())

    public init() {}

    /// How many questions came.
    public var asked: Int { state.withLock { $0.asked } }

    /// A question; returns when the time of all is up.
    public func ask() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.asked += 1
                if !state.isOver { state.hanging.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// The time of all questions is up, also of those that come later.
    public func end() {
        let hanging = state.withLock { state in
            state.isOver = true
            return state.hanging
        }
        for continuation in hanging { continuation.resume() }
    }
}
