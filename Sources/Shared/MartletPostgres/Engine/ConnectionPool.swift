import Logging
import Synchronization

/// The connections for queries. Opens them as needed and closes broken ones.
final class ConnectionPool {
    private let context: EngineContext
    private let deadlines: Deadlines
    private let leases: Leases

    private(set) var connections: [Connection] = []
    /// Whether a connection was ever needed. From then on, one is kept open.
    var isWanted = false
    private var attempts = ConnectAttempts()

    init(context: EngineContext, deadlines: Deadlines, leases: Leases) {
        self.context = context
        self.deadlines = deadlines
        self.leases = leases
    }

    subscript(id: Int) -> Connection? { connections.first { $0.id == id } }

    /// The leased connection, unless it was lost.
    subscript(lease: Lease) -> Connection? { connections.first { $0.lease === lease } }

    var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight.count } }
    var isUnused: Bool { connections.allSatisfy { $0.isIdle && $0.lease == nil } }
    var isConnecting: Bool { attempts.running > 0 }

    /// Heads that became the head before this time are slow.
    var slowSince: Nanoseconds { context.now - context.configuration.maximumHeadAge.nanoseconds }

    /// Why there is no connection.
    var connectFailure: PostgresError {
        attempts.lastError ?? PostgresError(.unavailable, "could not connect to PostgreSQL in time")
    }

    /// Closes a connection. Statements sent on it may have been executed. `serverError` is the server's last error.
    func lose(_ connection: Connection, _ serverError: PostgresError? = nil) {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
        connections.remove(at: index)
        context.poller.remove(connection.socket)
        isWanted = true
        context.mailbox.liveConnections.store(connections.count, ordering: .releasing)
        if connections.isEmpty { deadlines.didDisconnect() }
        failInFlight(connection, serverError)
        failHeld(connection)
        leases.withdrawReservation(of: connection)
        context.logger.debug(
            "A connection to PostgreSQL has ended.", metadata: ["postgres.connections": "\(connections.count)"])
    }

    func release(_ lease: Lease, isReusable: Bool) {
        guard let connection = self[lease] else { return }
        connection.lease = nil
        failHeld(connection)
        if !isReusable || !connection.isIdle { lose(connection) }
    }

    private func failInFlight(_ connection: Connection, _ serverError: PostgresError?) {
        for (place, segment) in connection.removeAllInFlight().enumerated() {
            var error =
                serverError?.code == .protocolViolation
                ? serverError ?? .lost(mayHaveExecuted: true) : .lost(mayHaveExecuted: true)
            error.mayHaveExecuted = true
            if place == 0 { error.sqlState = serverError?.sqlState }
            segment.request.tenant?.forget(connection: connection.id)
            context.complete(segment.request, .failure(error))
        }
    }

    private func failHeld(_ connection: Connection) {
        for request in connection.held.removeAll() {
            context.complete(request, .failure(.lost(mayHaveExecuted: false)))
        }
    }
}

// MARK: - Connecting

extension ConnectionPool {
    /// Whether another connection is being opened, or may be without waiting for the backoff.
    var expectsConnection: Bool {
        connections.count < context.configuration.maximumConnections
            && (isConnecting || attempts.notBefore <= context.now)
    }

    /// Opens connections as needed, subject to the backoff after a failure and the number of attempts that are useful.
    /// `demand` is the number of waiting requests.
    func connectIfWanted(demand: Int, isDraining: Bool) {
        guard isWanted, context.now >= attempts.notBefore else { return }
        guard demand > 0 || (!isDraining && connections.allSatisfy { !$0.isIdle }) else { return }
        // While the server is down, one attempt at a time is enough.
        let useful = attempts.backoff.failures > 0 ? 1 : max(1, demand)
        while context.now >= attempts.notBefore, attempts.running < useful,
            connections.count + attempts.running < context.configuration.maximumConnections
        {
            attempts.running += 1
            if !context.startConnecting(isListener: false) { didConnect(.failure(.connecting("no thread"))) }
        }
    }

    func didConnect(_ result: Result<ConnectionHandle, PostgresError>) {
        attempts.running -= 1
        switch result {
        case .success(let handle):
            attempts.succeed()
            connections.append(context.open(handle))
            context.mailbox.liveConnections.store(connections.count, ordering: .releasing)
            deadlines.didConnect()
            context.logger.debug("Connected to PostgreSQL.", metadata: ["postgres.connections": "\(connections.count)"])
        case .failure(let error):
            attempts.fail(error, now: context.now)
            context.logger.debug(
                "Could not connect to PostgreSQL; retrying.",
                metadata: ["error": "\(error)", "attempt": "\(attempts.backoff.failures)"])
        }
    }
}

// MARK: - Timers

extension ConnectionPool {
    /// When to call `fireTimers` or `connectIfWanted`, or to settle reservations.
    func timer(demand: Int) -> Nanoseconds {
        var next = Nanoseconds.max
        if isWanted, connections.isEmpty || demand > 0, !isConnecting, attempts.notBefore > context.now {
            next = attempts.notBefore
        }
        for connection in connections {
            if let timer = connection.cancellation.timer { next = min(next, timer) }
            // Wake up to withdraw the reservation if the head turns out to be slow.
            if connection.reservation != nil {
                next = min(next, connection.headSince + context.configuration.maximumHeadAge.nanoseconds + 1)
            }
        }
        return next
    }

    /// Sends cancellations and closes connections that do not react.
    func fireTimers() {
        for connection in connections {
            if let giveUpAt = connection.cancellation.giveUpAt, context.now >= giveUpAt {
                lose(connection)
            } else if let dueAt = connection.cancellation.dueAt, context.now >= dueAt {
                let mailbox = context.mailbox, id = connection.id
                let isStarted = connection.startCancellation(now: context.now) {
                    mailbox.post(.cancellationSent(connection: id))
                }
                if !isStarted { lose(connection) }
            }
        }
    }

    /// Checks the deadlines of all requests that have a connection.
    func checkDeadlines() {
        for connection in connections {
            connection.inFlight.forEach { if !$0.request.isDone { deadlines.check($0.request, isQueued: false) } }
            connection.held.forEach { if !$0.isDone { deadlines.check($0, isQueued: false) } }
            if let reservation = connection.reservation, !reservation.isDone {
                deadlines.check(reservation, isQueued: false)
            }
        }
    }
}

/// State of the connection attempts for queries.
private struct ConnectAttempts {
    var running = 0
    private(set) var backoff = Backoff()
    private(set) var notBefore: Nanoseconds = 0
    /// The error of the last failed attempt.
    private(set) var lastError: PostgresError?

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
