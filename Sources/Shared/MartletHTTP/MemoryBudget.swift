import CoreMetrics
import HTTPTypes
import MartletAPI
import MartletCore
import Synchronization

/// Limits the memory that this process holds for one purpose, such as request bodies.
///
/// A caller that finds no room waits for at most `maximumWait`. Waiting callers are served in order of arrival.
public final class MemoryBudget: Sendable {
    /// A reserved part of a budget, returned when it is deallocated.
    public final class Reservation: Sendable {
        private let budget: MemoryBudget
        private let size: Mutex<Int>

        fileprivate init(_ sizeInBytes: Int, of budget: MemoryBudget) {
            self.budget = budget
            size = Mutex(sizeInBytes)
        }

        public var sizeInBytes: Int { size.withLock(\.self) }

        /// Returns everything above `sizeInBytes`.
        public func shrink(to sizeInBytes: Int) {
            budget.release(
                size.withLock { size in
                    let rest = max(0, size - sizeInBytes)
                    size -= rest
                    return rest
                })
        }

        deinit { shrink(to: 0) }
    }

    private struct State {
        var held = 0
        var lastTicket = 0
        var waiters: [Waiter] = []

        func hasRoom(for size: Int, in total: Int) -> Bool { held + size <= total }
    }

    private struct Waiter {
        let ticket: Int
        let size: Int
        let continuation: UnsafeContinuation<Bool, Never>
    }

    public let sizeInBytes: Int
    private let maximumWait: Duration
    private let maximumWaiting: Int
    private let state = Mutex(State())
    private let gauge: Meter
    private let refusals: Counter

    /// - Parameter name: The purpose, as a label of the metrics: `bodies`.
    public init(_ name: String, sizeInBytes: Int, maximumWait: Duration = .seconds(5), maximumWaiting: Int = 1_000) {
        self.sizeInBytes = sizeInBytes
        self.maximumWait = maximumWait
        self.maximumWaiting = maximumWaiting
        gauge = Meter(label: "martlet.memory.bytes", dimensions: [("of", name)])
        refusals = Counter(label: "martlet.memory.refused", dimensions: [("of", name)])
        gauge.set(0)
        refusals.increment(by: 0)
    }

    public var heldInBytes: Int { state.withLock(\.held) }
    var waiting: Int { state.withLock(\.waiters.count) }

    /// Reserves `sizeInBytes`, or the whole budget if that is less.
    ///
    /// - Throws: `unavailable` after `maximumWait`, or at once if too many callers are waiting.
    public func reserve(_ sizeInBytes: Int) async throws -> Reservation {
        let size = min(sizeInBytes, self.sizeInBytes)
        guard await enter(size) else {
            refusals.increment()
            throw Self.refusal
        }
        return Reservation(size, of: self)
    }

    /// Reserves without waiting, ahead of callers waiting for more than is free. Nil if there is no room.
    public func reserveNow(_ sizeInBytes: Int) -> Reservation? {
        let size = min(sizeInBytes, self.sizeInBytes)
        guard take(size, aheadOfWaiters: true) else {
            refusals.increment()
            return nil
        }
        return Reservation(size, of: self)
    }

    /// Counts memory that is already in use and cannot be released, even beyond the budget.
    public func count(_ sizeInBytes: Int) -> Reservation {
        state.withLock { state in
            state.held += sizeInBytes
            gauge.set(state.held)
        }
        return Reservation(sizeInBytes, of: self)
    }

    static var refusal: ServiceError {
        ServiceError(
            .unavailable,
            "The server is short of memory for large requests and answers; try again later, or request less at once.",
            retryAfter: 5)
    }

    private func take(_ size: Int, aheadOfWaiters: Bool = false) -> Bool {
        state.withLock { state in
            guard aheadOfWaiters || state.waiters.isEmpty, state.hasRoom(for: size, in: sizeInBytes) else {
                return false
            }
            state.held += size
            gauge.set(state.held)
            return true
        }
    }

    // MARK: Waiting

    private func enter(_ size: Int) async -> Bool {
        if take(size) { return true }
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let limit = Task { [maximumWait, weak self] in
            guard (try? await Task.sleep(for: maximumWait)) != nil else { return }
            self?.leave(ticket)
        }
        defer { limit.cancel() }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let isAdmitted = state.withLock { state -> Bool? in
                    if state.waiters.isEmpty, state.hasRoom(for: size, in: sizeInBytes) {
                        state.held += size
                        gauge.set(state.held)
                        return true
                    }
                    guard !Task.isCancelled, state.waiters.count < maximumWaiting else { return false }
                    state.waiters.append(Waiter(ticket: ticket, size: size, continuation: continuation))
                    return nil
                }
                if let isAdmitted { continuation.resume(returning: isAdmitted) }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    private func leave(_ ticket: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
        // A smaller request behind this one may fit.
        if waiter != nil { release(0) }
    }

    private func release(_ sizeInBytes: Int) {
        let admitted = state.withLock { state in
            state.held -= sizeInBytes
            var count = 0
            while count < state.waiters.count, state.hasRoom(for: state.waiters[count].size, in: self.sizeInBytes) {
                state.held += state.waiters[count].size
                count += 1
            }
            defer { state.waiters.removeFirst(count) }
            gauge.set(state.held)
            return Array(state.waiters.prefix(count))
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }
}
