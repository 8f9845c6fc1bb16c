/// The callers that wait for the engine to drain, and how long they wait.
struct Drain {
    private static let margin: Nanoseconds = 5_000_000_000

    private var waiters: [UnsafeContinuation<Void, Never>] = []
    /// When transactions that have not ended are aborted.
    private(set) var deadline = Nanoseconds.max

    var isRequested: Bool { !waiters.isEmpty }

    mutating func request(_ waiter: UnsafeContinuation<Void, Never>, _ context: EngineContext) {
        waiters.append(waiter)
        deadline = min(deadline, context.now + context.configuration.queryTimeout.nanoseconds + Self.margin)
    }

    func finish() {
        waiters.forEach { $0.resume() }
    }
}
