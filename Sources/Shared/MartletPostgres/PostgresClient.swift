public import Logging
public import ServiceLifecycle
import Synchronization

/// An asynchronous PostgreSQL client: few connections, driven by libpq in pipeline mode on one thread.
///
/// Whatever is waiting is sent at once, over as many connections as are busy up to the limit; each statement is its own transaction and
/// fails alone. Statements of one task that await one another run in that order; others in any. Works from the first call on;
/// `run()` connects ahead and ends, after a graceful shutdown, when everything submitted is answered.
public final class PostgresClient: Sendable, Service {
    let configuration: PostgresConfiguration
    let mailbox: Mailbox
    private let lastSubscription = Atomic<Int>(0)

    public init(configuration: PostgresConfiguration, logger: Logger) {
        let mailbox = Mailbox(maximumWaiting: configuration.maximumWaitingQueries)
        self.configuration = configuration
        self.mailbox = mailbox
        let isStarted = startThread("postgres") {
            guard let engine = Engine(configuration: configuration, mailbox: mailbox, logger: logger) else { return mailbox.abort() }
            engine.run()
        }
        if !isStarted { mailbox.abort() }
    }

    deinit { mailbox.post(.abandon) }

    /// Whether there is at least one connection.
    public var isReady: Bool { mailbox.liveConnections.load(ordering: .acquiring) > 0 }

    public func run() async throws {
        mailbox.post(.warmUp)
        try? await gracefulShutdown()
        await close()
    }

    /// Refuses new queries, waits for the answers to those submitted, and disconnects.
    public func close() async {
        await withUnsafeContinuation { continuation in
            if !mailbox.post(.drain(continuation)) { continuation.resume() }
        }
    }

    /// Runs one statement. `timeout` counts from the call and stands in for the configuration's.
    public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws -> PostgresRows {
        try await rows(Request(.query, query, timeout: nanoseconds(timeout)))
    }

    /// Runs one statement and returns how many rows it changed.
    @discardableResult
    public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws -> Int {
        try await self.query(query, timeout: timeout).affectedRows
    }

    /// The notifications of a channel, from now until the reader ends.
    ///
    /// The first element is `.reconnected`, when `LISTEN` is in effect; another follows whenever the connection was made anew. A reader
    /// that looks at the tables after each of them, and after an element with `mayHaveMissed`, misses nothing. At most 1,000
    /// elements are buffered, then the oldest are dropped. A channel is 1 to 63 bytes long; the stream of any other ends at once.
    public func listen(_ channel: String) -> AsyncStream<PostgresNotification> {
        let (stream, continuation) = AsyncStream.makeStream(of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(1000))
        let id = lastSubscription.wrappingAdd(1, ordering: .relaxed).newValue
        let subscription = Subscription(id: id, channel: channel, continuation: continuation)
        guard PostgresIdentifier(channel) != nil, mailbox.post(.listen(subscription)) else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [mailbox] _ in mailbox.post(.unlisten(id)) }
        return stream
    }
}

extension PostgresClient {
    func nanoseconds(_ timeout: Duration?) -> Nanoseconds {
        (timeout ?? configuration.queryTimeout).nanoseconds
    }

    func rows(_ request: Request, isShielded: Bool = false) async throws -> PostgresRows {
        guard case .rows(let result) = try await reply(to: request, isShielded: isShielded) else {
            throw PostgresError(.protocolViolation, "not a result")
        }
        return PostgresRows(result: result)
    }

    /// A shielded request outlives the cancellation of its task: for ending transactions.
    func reply(to request: Request, isShielded: Bool = false) async throws -> Request.Reply {
        if isShielded { return try await submit(request) }
        return try await withTaskCancellationHandler {
            try await submit(request)
        } onCancel: {
            mailbox.post(.cancel(request))
        }
    }

    private func submit(_ request: Request) async throws -> Request.Reply {
        try await withUnsafeThrowingContinuation { continuation in
            request.attach(continuation)
            if let refusal = mailbox.submit(request) { request.complete(.failure(refusal), now: monotonicNow()) }
        }
    }
}

extension Mailbox {
    /// Refuses everything, when there is no thread to run the engine.
    fileprivate func abort() {
        for message in close() {
            switch message {
            case .submit(let request):
                request.complete(.failure(PostgresError(.unavailable, "no thread or descriptor left")), now: monotonicNow())
            case .listen(let subscription): subscription.finish()
            case .drain(let continuation): continuation.resume()
            default: break
            }
        }
    }
}
