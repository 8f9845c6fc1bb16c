import Synchronization

/// Wakes the claim loop.
final class ClaimSignal: Sendable {
    /// Finishes at shutdown.
    let wakes: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let hasChanged = Atomic(true)

    init() {
        (wakes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func wake() { continuation.yield() }

    /// Records that the queue has changed and must be read again.
    func markChanged() {
        hasChanged.store(true, ordering: .relaxed)
        wake()
    }

    /// Whether the queue has changed since the last call.
    func takeChange() -> Bool { hasChanged.exchange(false, ordering: .relaxed) }

    func finish() { continuation.finish() }
}
