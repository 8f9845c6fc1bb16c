package import Foundation

/// Streams that all receive the same values.
package final class Observers<Value: Sendable>: Sendable {
    private let continuations = Locked<[UUID: AsyncStream<Value>.Continuation]>([:])

    package init() {}

    var isEmpty: Bool { continuations.withLock(\.isEmpty) }

    /// Adds a stream until its iteration ends.
    ///
    /// - Parameter atEnd: Called when it has ended.
    func add(_ continuation: AsyncStream<Value>.Continuation, atEnd: @escaping @Sendable () -> Void = {}) {
        let id = UUID()
        insert(continuation, id)
        // Weak, because the continuations retain this closure.
        continuation.onTermination = { [weak self] _ in
            atEnd()
            self?.remove(id)
        }
    }

    /// Adds a stream, which the caller has to remove.
    package func insert(_ continuation: AsyncStream<Value>.Continuation, _ id: UUID) {
        continuations.withLock { $0[id] = continuation }
    }

    package func remove(_ id: UUID) { continuations.withLock { $0[id] = nil } }

    package func yield(_ value: Value) {
        for continuation in continuations.withLock({ Array($0.values) }) { continuation.yield(value) }
    }
}
