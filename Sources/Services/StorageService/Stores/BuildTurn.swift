import MartletAPI
import MartletCore
import MartletHTTP
import Synchronization

/// One build of an index at a time in this copy of the service, in the order of asking.
///
/// Each takes a processor and a disk for itself.
final class BuildTurn: Sendable {
    static let maximumWaiting = 20

    private struct State {
        var isTaken = false
        var last = 0
        var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// - Throws: `unavailable` when too many wait, `CancellationError`.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let isEntered = try await withTaskCancellationHandler {
            guard state.withLock({ $0.waiting.count < Self.maximumWaiting }) else {
                throw HTTPProblem(.unavailable, "\(Self.maximumWaiting) indexes wait to be built. Try again later.")
            }
            return await withCheckedContinuation { continuation in
                let result: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    guard state.isTaken else {
                        state.isTaken = true
                        return true
                    }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).continuation }
            }
            continuation?.resume(returning: false)
        }
        guard isEntered else { throw CancellationError() }
    }

    private func leave() {
        let next = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
