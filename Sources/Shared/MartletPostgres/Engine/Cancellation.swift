import CLibPQ

/// Stopping, on the server, a statement that nobody waits for any more.
///
/// PostgreSQL cancels whatever a connection runs when the request arrives, not a particular statement. So it is sent only for the
/// statement at the head of the pipeline, only if it still runs after a grace period, and nothing is sent meanwhile. A neighbour that is
/// hit all the same is recognised by `mayHaveHitNeighbour` and sent again.
struct Cancellation {
    static let gracePeriod: Nanoseconds = 5_000_000
    static let interval: Nanoseconds = 1_000_000_000
    /// A connection whose head does not end for so long is closed.
    static let patience: Nanoseconds = 5_000_000_000
    /// How long after being sent a cancellation may still hit something.
    static let echo: Nanoseconds = 2_000_000_000

    /// A thread is sending it.
    private(set) var isRunning = false
    /// When to send it.
    private(set) var dueAt: Nanoseconds?
    /// When to give up the connection.
    private(set) var giveUpAt: Nanoseconds?
    private var lastSentAt: Nanoseconds?

    /// The head is not wanted any more.
    mutating func schedule(now: Nanoseconds) {
        guard dueAt == nil, giveUpAt == nil else { return }
        dueAt = now + Self.gracePeriod
        giveUpAt = now + Self.patience
    }

    mutating func didStart(now: Nanoseconds) {
        isRunning = true
        dueAt = nil
        lastSentAt = now
    }

    mutating func didSend(now: Nanoseconds) {
        isRunning = false
        lastSentAt = now
        if giveUpAt != nil { dueAt = now + Self.interval }
    }

    /// The head has ended; the next one starts afresh.
    mutating func headDidChange() {
        dueAt = nil
        giveUpAt = nil
    }

    func mayHaveHitNeighbour(now: Nanoseconds) -> Bool {
        isRunning || lastSentAt.map { now - $0 < Self.echo } ?? false
    }

    /// The next time at which something is to be done.
    var timer: Nanoseconds? { [dueAt, giveUpAt].compactMap { $0 }.min() }
}

extension Connection {
    /// Sends the cancellation from a thread of its own, as libpq blocks while doing so. False when that is not possible.
    func startCancellation(now: Nanoseconds, then done: @escaping @Sendable () -> Void) -> Bool {
        guard let cancel = PQgetCancel(pointer) else { return false }
        let ticket = CancellationTicket(pointer: cancel)
        cancellation.didStart(now: now)
        let isStarted = startThread("pg-cancel") {
            ticket.use()
            done()
        }
        if !isStarted { PQfreeCancel(cancel) }
        return isStarted
    }
}

/// `@unchecked Sendable`: a `PGcancel` is a copy of address and key that only the one thread uses.
private struct CancellationTicket: @unchecked Sendable {
    let pointer: OpaquePointer

    func use() {
        var reason = [CChar](repeating: 0, count: 256)
        PQcancel(pointer, &reason, Int32(reason.count))
        PQfreeCancel(pointer)
    }
}
