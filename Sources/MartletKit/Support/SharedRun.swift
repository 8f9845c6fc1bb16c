/// Runs an operation, one run at a time. Calls during a run share the next run, so at most one run waits.
package final class SharedRun: Sendable {
    private struct State {
        var running: Task<Void, any Error>?
        var next: Task<Void, any Error>?
    }

    private let state = Locked(State())

    package init() {}

    /// Returns after a run that began after the call.
    ///
    /// - Throws: What the operation of that run throws.
    package func run(_ operation: @escaping @Sendable () async throws -> Void) async throws {
        let task = state.withLock { state -> Task<Void, any Error> in
            if let next = state.next { return next }
            let before = state.running
            let task = Task { [self] in
                _ = await before?.result
                begin()
                try await operation()
            }
            state.next = task
            return task
        }
        try await task.value
    }

    private func begin() {
        state.withLock { state in
            state.running = state.next
            state.next = nil
        }
    }
}
