/// Finds the requests that have waited too long.
///
/// Schedules one sweep over all requests for when the earliest deadline is due. Most requests are answered long before.
final class Deadlines {
    private let context: EngineContext
    private let waitForConnectionTimeout: Nanoseconds

    /// When the next request may time out.
    private(set) var sweepAt = Nanoseconds.max
    /// When the last connection for queries was lost; nil while there is one. Zero before the first connection.
    private var disconnectedSince: Nanoseconds? = 0
    private var overdue: [Request] = []
    private var cutOff: [Request] = []

    init(context: EngineContext) {
        self.context = context
        waitForConnectionTimeout = context.configuration.waitForConnectionTimeout.nanoseconds
    }

    func watch(_ request: Request) {
        sweepAt = min(sweepAt, request.deadline)
        if let deadline = connectionDeadline(of: request) { sweepAt = min(sweepAt, deadline) }
    }

    func didConnect() { disconnectedSince = nil }

    /// Called when the last connection is lost.
    func didDisconnect() {
        disconnectedSince = context.now
        sweepAt = min(sweepAt, context.now + waitForConnectionTimeout)
    }

    /// Starts a sweep if it is due. The caller then calls `check` for every request, and `endSweep`.
    func beginSweep() -> Bool {
        guard context.now >= sweepAt else { return false }
        sweepAt = .max
        return true
    }

    /// `isQueued` means that the request has no connection.
    func check(_ request: Request, isQueued: Bool) {
        if context.now >= request.deadline {
            overdue.append(request)
        } else if isQueued, let deadline = connectionDeadline(of: request), context.now >= deadline {
            cutOff.append(request)
        } else {
            watch(request)
        }
    }

    /// The requests that have timed out, and those that have waited too long without any connection.
    func endSweep() -> (overdue: [Request], cutOff: [Request]) {
        defer { (overdue, cutOff) = ([], []) }
        return (overdue, cutOff)
    }

    private func connectionDeadline(of request: Request) -> Nanoseconds? {
        disconnectedSince.map { max(request.startedAt, $0) + waitForConnectionTimeout }
    }
}
