import Synchronization

/// An asynchronous semaphore with a limited number of waiting tasks, served in order of arrival.
public final class AsyncSemaphore: Sendable {
    private struct State {
        var permitsInUse = 0
        var continuations: [Int: CheckedContinuation<Void, any Error>] = [:]
        var order: [Int] = []
        var next = 0
    }

    private let limit: Int
    private let maximumWaiting: Int
    private let refusal: any Error
    private let state = Mutex(State())

    /// - Parameter refusal: The error to throw when too many tasks are waiting.
    public init(limit: Int, maximumWaiting: Int, refusal: any Error) {
        self.limit = limit
        self.maximumWaiting = maximumWaiting
        self.refusal = refusal
    }

    /// Number of waiting tasks.
    public var waiting: Int { state.withLock { $0.order.count } }

    /// - Throws: The refusal if too many tasks are waiting; `CancellationError`; errors of `body`.
    public func withPermit<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.permitsInUse < limit {
                        state.permitsInUse += 1
                        return .success(())
                    }
                    guard state.order.count < maximumWaiting else {
                        return .failure(refusal)
                    }
                    state.continuations[number] = continuation
                    state.order.append(number)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.order.removeAll { $0 == number }
                return state.continuations.removeValue(forKey: number)
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Passes the permit to the first waiting task, if any.
    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.order.isEmpty else {
                state.permitsInUse -= 1
                return nil
            }
            return state.continuations.removeValue(forKey: state.order.removeFirst())
        }
        next?.resume()
    }
}
