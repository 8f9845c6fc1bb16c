import ServiceLifecycle
import Synchronization

/// Tasks that wait for a change, until it happens, their time limit passes, or the process shuts down.
public final class Waiters: Sendable {
    private struct State {
        var next = 0
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Makes all waiting tasks check for a change.
    public func wake() {
        for waiter in state.withLock({ Array($0.waiting.values) }) { waiter.yield() }
    }

    /// Returns the first value that `look` finds; nil when the time limit has passed.
    public func wait<Value: Sendable>(_ limit: Duration, for look: @escaping @Sendable () -> Value?) async -> Value? {
        if let value = look() { return value }
        let (changes, number) = enter()
        defer { leave(number) }
        return await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Value?.self) { group in
                group.addTask {
                    for await _ in changes {
                        if let value = look() { return value }
                    }
                    return nil
                }
                group.addTask {
                    try? await Task.sleep(for: limit)
                    return nil
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        }
    }

    private func enter() -> (AsyncStream<Void>, Int) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.next += 1
            state.waiting[state.next] = continuation
            return state.next
        }
        // Covers a change between the first look and registration.
        continuation.yield()
        return (stream, number)
    }

    private func leave(_ number: Int) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.finish()
    }
}
