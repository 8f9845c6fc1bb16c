import Logging
import Synchronization

/// Drives all connections of a client on one thread of its own.
///
/// A turn: take the messages, fire the timers, hand waiting requests to connections, wait for sockets, take in answers. Everything here
/// is confined to that thread; the mailbox is the only way in.
final class Engine {
    static let statementTimeoutMarginInMilliseconds: Int64 = 5000
    /// The protocol counts them in 16 bits.
    static let maximumParameters = 65_535
    /// Statements that a role sends on a connection in one go while another role waits for one. Each go costs a round trip without work.
    static let maximumBatch = 16
    static let drainMargin: Nanoseconds = 5_000_000_000
    static let internalStatementTimeout: Nanoseconds = 30_000_000_000

    /// What PostgreSQL itself allows a statement whose answer is waited for as long as `timeout`.
    static func statementTimeoutInMilliseconds(_ timeout: Nanoseconds) -> Int64 {
        min(timeout / 1_000_000 + statementTimeoutMarginInMilliseconds, Int64(Int32.max))
    }

    let configuration: PostgresConfiguration
    let mailbox: Mailbox
    let logger: Logger
    var metrics = EngineMetrics()
    let parameters = ParameterBuffer()
    var poller: Poller

    /// The time at the start of the turn, or of the batch of answers.
    var now = monotonicNow()

    var connections: [Connection] = []
    var waiting = TenantQueues()
    var waitingForLease = RequestQueue()
    /// When the next request may have to be given up.
    var sweepAt = Nanoseconds.max

    var attempt = ConnectAttempts()
    var listener: Listener
    private var lastConnection = 0

    /// Resumed when all is done; non-empty means that it is to be done.
    private var drainers: [UnsafeContinuation<Void, Never>] = []
    /// When a transaction that does not end is cut off.
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
        metrics.turn(waiting: waiting.count, inFlight: inFlight, connections: connections.count)
        guard !isFinished else { return }
        let maySleep = mailbox.prepareToSleep(waiting: waiting.count)
        for index in 0..<poller.wait(timeout: maySleep ? timeUntilTimer : 0) {
            guard let event = poller.event(index), let connection = connection(Int(event.key)) else { continue }
            if event.isWritable { flush(connection) }
            // The flush may have found it broken.
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
        metrics.turn(waiting: 0, inFlight: 0, connections: 0)
        drainers.forEach { $0.resume() }
    }
}

// MARK: - Connections

extension Engine {
    func connection(_ id: Int) -> Connection? {
        if listener.connection?.id == id { return listener.connection }
        return connections.first { $0.id == id }
    }

    /// Starts to connect, unless it is too early after a failure or as many attempts run as make sense.
    func connectIfWanted() {
        guard attempt.isWanted, now >= attempt.notBefore else { return }
        let demand = waiting.count + waitingForLease.count
        guard demand > 0 || (!isDraining && connections.allSatisfy { !$0.isIdle }) else { return }
        // Against a server that is down one attempt at a time is enough.
        let useful = attempt.backoff.failures > 0 ? 1 : max(1, demand)
        while now >= attempt.notBefore, attempt.running < useful, connections.count + attempt.running < configuration.maximumConnections {
            attempt.running += 1
            startConnecting(isListener: false)
        }
    }

    func startConnecting(isListener: Bool) {
        let connector = Connector(configuration: configuration)
        let mailbox = mailbox
        let isStarted = startThread("pg-connect") {
            let result = connector.connect()
            if !mailbox.post(.connected(result, isListener: isListener)), case .success(let handle) = result { discard(handle) }
        }
        if !isStarted { didConnect(.failure(.connecting("no thread")), isListener: isListener) }
    }

    private func didConnect(_ result: Result<ConnectionHandle, PostgresError>, isListener: Bool) {
        if !isListener { attempt.running -= 1 }
        switch result {
        case .success(let handle):
            lastConnection += 1
            let connection = Connection(id: lastConnection, handle: handle, statementCacheSize: configuration.preparedStatementCacheSize)
            poller.add(connection.socket, key: UInt64(connection.id))
            if isListener { return listenerDidConnect(connection) }
            attempt.succeed()
            connections.append(connection)
            publishConnections()
            logger.debug("connected to PostgreSQL", metadata: ["postgres.connections": "\(connections.count)"])
        case .failure(let error):
            if isListener { return listenerDidFail() }
            attempt.fail(error, now: now)
            logger.debug("cannot connect to PostgreSQL", metadata: ["error": "\(error)", "attempt": "\(attempt.backoff.failures)"])
        }
    }

    /// Gives up a connection. What was sent on it has an unknown fate; `farewell` is what the server said last.
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
        logger.debug("lost a connection to PostgreSQL", metadata: ["postgres.connections": "\(connections.count)"])
    }

    private func failInFlight(_ connection: Connection, _ farewell: PostgresError?) {
        for (place, segment) in connection.removeAllInFlight().enumerated() {
            var error = farewell?.code == .protocolViolation ? farewell ?? .lost(mayHaveExecuted: true) : .lost(mayHaveExecuted: true)
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

/// The attempts to connect for queries.
struct ConnectAttempts {
    /// Somebody wants a connection; from the first time on, one is kept up.
    var isWanted = false
    var running = 0
    var backoff = Backoff()
    var notBefore: Nanoseconds = 0
    /// Since when there has been no connection.
    var aloneSince: Nanoseconds = 0
    /// Why the last attempt failed.
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

/// Closes a connection that nobody took.
private func discard(_ handle: ConnectionHandle) {
    _ = Connection(id: 0, handle: handle, statementCacheSize: 1)
}
