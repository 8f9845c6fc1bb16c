import Logging
import Synchronization

/// Drives all connections of a client on one dedicated thread.
///
/// Each turn takes messages, fires timers, assigns waiting requests to connections, waits for sockets and processes
/// answers. All state is confined to the thread; the mailbox is the only entrance.
final class Engine {
    static let statementTimeoutMarginInMilliseconds: Int64 = 5000
    /// The protocol counts parameters in 16 bits.
    static let maximumParameters = 65_535
    /// Maximum number of statements per batch of one role on a connection while another role waits. Between two batches
    /// the connection is unused for a round trip.
    static let maximumBatch = 16
    static let drainMargin: Nanoseconds = 5_000_000_000
    static let internalStatementTimeout: Nanoseconds = 30_000_000_000

    /// PostgreSQL's own limit for a statement whose caller waits for `timeout`.
    static func statementTimeoutInMilliseconds(_ timeout: Nanoseconds) -> Int64 {
        min(timeout / 1_000_000 + statementTimeoutMarginInMilliseconds, Int64(Int32.max))
    }

    let configuration: PostgresConfiguration
    let mailbox: Mailbox
    let logger: Logger
    var metrics = EngineMetrics()
    let parameters = ParameterBuffer()
    var poller: Poller

    /// The time at the start of the turn or of the current batch of answers.
    var now = monotonicNow()

    var connections: [Connection] = []
    var waiting = TenantQueues()
    var waitingForLease = RequestQueue()
    /// When the next request may time out.
    var sweepAt = Nanoseconds.max

    var attempt = ConnectAttempts()
    var listener: Listener
    private var lastConnection = 0

    /// Resumed when the engine has drained; non-empty while it drains.
    private var drainers: [UnsafeContinuation<Void, Never>] = []
    /// When transactions that have not ended are aborted.
    private(set) var drainDeadline = Nanoseconds.max
    private var isAbandoned = false
    private var messages: [Mailbox.Message] = []

    init?(configuration: PostgresConfiguration, mailbox: Mailbox, logger: Logger) {
        guard let poller = Poller(waker: mailbox.waker) else { return nil }
        self.configuration = configuration
        self.mailbox = mailbox
        self.logger = logger
        self.poller = poller
        listener = Listener()
    }

    func run() {
        while !isFinished {
            mailbox.take(into: &messages, waiting: waiting.count)
            now = monotonicNow()
            for message in messages { handle(message) }
            messages.removeAll(keepingCapacity: true)
            fireTimers()
            dispatch()
            flush()
            sleep()
        }
        finish()
    }

    private func handle(_ message: Mailbox.Message) {
        switch message {
        case .submit(let request): submit(request)
        case .cancel(let request): cancel(request)
        case .release(let lease, let isReusable): release(lease, isReusable: isReusable)
        case .connected(let result, let isListener): didConnect(result, isListener: isListener)
        case .cancellationSent(let id): connection(id)?.cancellation.didSend(now: now)
        case .listen(let subscription): listen(subscription)
        case .unlisten(let id): unlisten(id)
        case .warmUp: attempt.isWanted = true
        case .drain(let continuation):
            drainers.append(continuation)
            drainDeadline = min(drainDeadline, now + configuration.queryTimeout.nanoseconds + Self.drainMargin)
        case .abandon: isAbandoned = true
        }
    }

    private func sleep() {
        metrics.report(waiting: waiting.count, inFlight: inFlight, connections: connections.count)
        guard !isFinished else { return }
        let maySleep = mailbox.prepareToSleep(waiting: waiting.count)
        for index in 0..<poller.wait(timeout: maySleep ? timeUntilTimer : 0) {
            guard let event = poller.event(index), let connection = connection(Int(event.key)) else { continue }
            if event.isWritable { flush(connection) }
            // The flush may have found the connection broken.
            if event.isReadable, self.connection(connection.id) != nil { receive(connection) }
        }
    }

    private var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight.count } }

    private var isFinished: Bool {
        isAbandoned || now >= drainDeadline || (isDraining && isIdle && attempt.running == 0 && !listener.isConnecting)
    }

    var isDraining: Bool { !drainers.isEmpty }

    private var isIdle: Bool {
        waiting.isEmpty && waitingForLease.isEmpty && connections.allSatisfy { $0.isIdle && $0.lease == nil }
    }

    private func finish() {
        for message in mailbox.close() {
            switch message {
            case .submit(let request): complete(request, .failure(.closed))
            case .connected(.success(let handle), _): discard(handle)
            case .listen(let subscription): subscription.finish()
            case .drain(let continuation): drainers.append(continuation)
            default: break
            }
        }
        waiting.forEach { complete($0, .failure(.closed)) }
        waitingForLease.forEach { complete($0, .failure(.closed)) }
        listener.finish()
        for connection in connections { lose(connection, nil) }
        mailbox.liveConnections.store(0, ordering: .releasing)
        metrics.report(waiting: 0, inFlight: 0, connections: 0)
        drainers.forEach { $0.resume() }
    }
}

// MARK: - Connections

extension Engine {
    func connection(_ id: Int) -> Connection? {
        if listener.connection?.id == id { return listener.connection }
        return connections.first { $0.id == id }
    }

    /// Opens connections as needed, subject to the backoff after a failure and the number of attempts that are useful.
    func connectIfWanted() {
        guard attempt.isWanted, now >= attempt.notBefore else { return }
        let demand = waiting.count + waitingForLease.count
        guard demand > 0 || (!isDraining && connections.allSatisfy { !$0.isIdle }) else { return }
        // While the server is down, one attempt at a time is enough.
        let useful = attempt.backoff.failures > 0 ? 1 : max(1, demand)
        while now >= attempt.notBefore, attempt.running < useful,
            connections.count + attempt.running < configuration.maximumConnections
        {
            attempt.running += 1
            startConnecting(isListener: false)
        }
    }

    func startConnecting(isListener: Bool) {
        let connector = Connector(configuration: configuration)
        let mailbox = mailbox
        let isStarted = startThread("pg-connect") {
            let result = connector.connect()
            if !mailbox.post(.connected(result, isListener: isListener)), case .success(let handle) = result {
                discard(handle)
            }
        }
        if !isStarted { didConnect(.failure(.connecting("no thread")), isListener: isListener) }
    }

    private func didConnect(_ result: Result<ConnectionHandle, PostgresError>, isListener: Bool) {
        if !isListener { attempt.running -= 1 }
        switch result {
        case .success(let handle):
            lastConnection += 1
            let connection = Connection(
                id: lastConnection, handle: handle, statementCacheSize: configuration.preparedStatementCacheSize)
            poller.add(connection.socket, key: UInt64(connection.id))
            if isListener { return listenerDidConnect(connection) }
            attempt.succeed()
            connections.append(connection)
            publishConnections()
            logger.debug("Connected to PostgreSQL.", metadata: ["postgres.connections": "\(connections.count)"])
        case .failure(let error):
            if isListener { return listenerDidFail() }
            attempt.fail(error, now: now)
            logger.debug(
                "Could not connect to PostgreSQL; retrying.",
                metadata: ["error": "\(error)", "attempt": "\(attempt.backoff.failures)"])
        }
    }

    /// Closes a connection. Statements sent on it may have been executed. `farewell` is the server's last error.
    func lose(_ connection: Connection, _ farewell: PostgresError?) {
        poller.remove(connection.socket)
        if listener.connection === connection { return listenerDidLose() }
        connections.removeAll { $0 === connection }
        publishConnections()
        attempt.isWanted = true
        if connections.isEmpty { sweepAt = min(sweepAt, now + configuration.waitForConnectionTimeout.nanoseconds) }
        failInFlight(connection, farewell)
        for request in connection.held.removeAll() { complete(request, .failure(.lost(mayHaveExecuted: false))) }
        if let reservation = connection.reservation, !reservation.isDone { waitingForLease.prepend(reservation) }
        logger.debug(
            "A connection to PostgreSQL has ended.", metadata: ["postgres.connections": "\(connections.count)"])
    }

    private func failInFlight(_ connection: Connection, _ farewell: PostgresError?) {
        for (place, segment) in connection.removeAllInFlight().enumerated() {
            var error =
                farewell?.code == .protocolViolation
                ? farewell ?? .lost(mayHaveExecuted: true) : .lost(mayHaveExecuted: true)
            error.mayHaveExecuted = true
            if place == 0 { error.sqlState = farewell?.sqlState }
            segment.request.tenant?.forget(connection: connection.id)
            complete(segment.request, .failure(error))
        }
    }

    private func publishConnections() {
        mailbox.liveConnections.store(connections.count, ordering: .releasing)
        if connections.isEmpty { attempt.aloneSince = now }
    }
}

/// State of the connection attempts for queries.
struct ConnectAttempts {
    /// Whether a connection was ever needed. From then on, one is kept open.
    var isWanted = false
    var running = 0
    var backoff = Backoff()
    var notBefore: Nanoseconds = 0
    /// When the last connection was lost.
    var aloneSince: Nanoseconds = 0
    /// The error of the last failed attempt.
    var lastError: PostgresError?

    mutating func succeed() {
        backoff.succeed()
        notBefore = 0
        lastError = nil
    }

    mutating func fail(_ error: PostgresError, now: Nanoseconds) {
        notBefore = now + backoff.fail(random: .random(in: 0...1))
        lastError = error
    }
}

/// Closes a connection that is not needed.
private func discard(_ handle: ConnectionHandle) {
    _ = Connection(id: 0, handle: handle, statementCacheSize: 1)
}
