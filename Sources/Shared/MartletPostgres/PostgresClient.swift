public import Logging
public import MartletCore
public import ServiceLifecycle
import Synchronization

/// An asynchronous PostgreSQL client: a few connections in libpq's pipeline mode, driven by one thread.
///
/// Statements are sent without waiting for earlier answers, over as many connections as needed up to the limit. Each
/// statement is its own transaction and fails alone. Statements that a task awaits one after another run in that order,
/// others in any order. The client works from the first call on. `run()` connects in advance and returns after a
/// graceful shutdown, once everything submitted is answered.
public final class PostgresClient: Sendable, Service {
    let configuration: PostgresConfiguration
    let mailbox: Mailbox
    private let lastSubscription = Atomic<Int>(0)

    public init(configuration: PostgresConfiguration, logger: Logger) {
        let mailbox = Mailbox(maximumWaiting: configuration.maximumWaitingQueries)
        self.configuration = configuration
        self.mailbox = mailbox
        let isStarted = startThread("postgres") {
            guard let engine = Engine(configuration: configuration, mailbox: mailbox, logger: logger) else {
                return mailbox.abort()
            }
            engine.run()
        }
        if !isStarted { mailbox.abort() }
    }

    deinit { mailbox.post(.abandon) }

    /// Whether at least one connection is open.
    public var isReady: Bool { mailbox.liveConnections.load(ordering: .acquiring) > 0 }

    public func run() async throws {
        mailbox.post(.warmUp)
        try? await gracefulShutdown()
        await close()
    }

    /// Refuses new queries, waits for those already submitted and disconnects.
    public func close() async {
        await withUnsafeContinuation { continuation in
            if !mailbox.post(.drain(continuation)) { continuation.resume() }
        }
    }

    /// Runs one statement. `timeout` starts with the call and replaces the configured one.
    public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws -> PostgresRows {
        try await rows(Request(.query, query, timeout: nanoseconds(timeout)))
    }

    /// Runs one statement without a task that waits for it.
    ///
    /// - Parameter completion: Called once, on the client's thread, which it must not block, or before the function
    ///   returns.
    public func start(
        _ query: PostgresQuery, usage: RequestUsage,
        completion: @escaping @Sendable (Result<PostgresRows, PostgresError>) -> Void
    ) {
        submit(Request(.query, query, timeout: nanoseconds(nil), usage: usage)) { result in
            completion(
                result.flatMap { reply in
                    guard case .rows(let rows) = reply else {
                        return .failure(PostgresError(.protocolViolation, "expected a result"))
                    }
                    return .success(PostgresRows(result: rows))
                })
        }
    }

    /// Runs one statement and returns the number of affected rows.
    @discardableResult
    public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws -> Int {
        try await self.query(query, timeout: timeout).affectedRows
    }

    /// The notifications of a channel, until the stream is terminated.
    ///
    /// The first element is `.reconnected`, sent when `LISTEN` is in effect; another follows after every reconnect. To
    /// miss nothing, read the tables after each of them and after elements with `mayHaveMissed`. At most 1,000 elements
    /// are buffered; then the oldest are dropped. A channel name has 1 to 63 bytes; for any other name the stream ends
    /// at once.
    public func listen(_ channel: String) -> AsyncStream<PostgresNotification> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(1000))
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
            throw PostgresError(.protocolViolation, "expected a result")
        }
        return PostgresRows(result: result)
    }

    /// A shielded request is not cancelled with its task; used to end transactions.
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
            submit(request) { continuation.resume(with: $0) }
        }
    }

    private func submit(_ request: Request, _ completion: @escaping (Result<Request.Reply, PostgresError>) -> Void) {
        request.attach(completion)
        if let refusal = mailbox.submit(request) { request.complete(.failure(refusal), now: monotonicNow()) }
    }
}

extension Mailbox {
    /// Refuses everything if there is no thread for the engine.
    fileprivate func abort() {
        for message in close() {
            switch message {
            case .submit(let request):
                request.complete(
                    .failure(PostgresError(.unavailable, "no thread or descriptor is available")), now: monotonicNow())
            case .listen(let subscription): subscription.finish()
            case .drain(let continuation): continuation.resume()
            default: break
            }
        }
    }
}
