import Foundation

/// Does work that blocks its thread, such as waiting for another program, on a thread of its own.
///
/// Swift's pool has as many threads as the machine has cores. A test that blocked one of two would halve the speed of
/// all other tests and of the code they test, and two such tests would stop everything.
public func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}
