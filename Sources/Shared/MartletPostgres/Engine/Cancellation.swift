import CLibPQ

/// Cancels a statement on the server after its caller has stopped waiting.
///
/// PostgreSQL cancels whatever the connection is running when the request arrives, not a particular statement. The
/// engine therefore cancels only the statement at the head of the pipeline, only if it is still running after a grace
/// period, and sends nothing else in the meantime. If another statement is hit anyway, `mayHaveHitAnother` detects it
/// and the statement is sent again.
struct Cancellation {
    static let gracePeriod: Nanoseconds = 5_000_000
    static let interval: Nanoseconds = 1_000_000_000
    /// A connection whose head does not finish within this time is closed.
    static let timeout: Nanoseconds = 5_000_000_000
    /// How long after it was sent a cancellation may still take effect.
    static let maximumDelay: Nanoseconds = 2_000_000_000

    /// Whether a thread is sending a cancellation.
    private(set) var isRunning = false
    /// When to send the cancellation.
    private(set) var dueAt: Nanoseconds?
    /// When to close the connection.
    private(set) var giveUpAt: Nanoseconds?
    private var lastSentAt: Nanoseconds?

    /// Called when the statement at the head is no longer needed.
    mutating func schedule(now: Nanoseconds) {
        guard dueAt == nil, giveUpAt == nil else { return }
        dueAt = now + Self.gracePeriod
        giveUpAt = now + Self.timeout
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

    /// Called when the head has finished. The next one starts without a cancellation.
    mutating func headDidChange() {
        dueAt = nil
        giveUpAt = nil
    }

    /// Whether a cancellation may have hit another statement than the one it was meant for.
    func mayHaveHitAnother(now: Nanoseconds) -> Bool {
        isRunning || lastSentAt.map { now - $0 < Self.maximumDelay } ?? false
    }

    /// The time of the next action.
    var timer: Nanoseconds? { [dueAt, giveUpAt].compactMap { $0 }.min() }
}

extension Connection {
    /// Sends the cancellation from a separate thread, because libpq blocks meanwhile. False if that is impossible.
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

/// `@unchecked Sendable`: a `PGcancel` is a copy of address and key, used by a single thread.
private struct CancellationTicket: @unchecked Sendable {
    let pointer: OpaquePointer

    func use() {
        var reason = [CChar](repeating: 0, count: 256)
        PQcancel(pointer, &reason, Int32(reason.count))
        PQfreeCancel(pointer)
    }
}
