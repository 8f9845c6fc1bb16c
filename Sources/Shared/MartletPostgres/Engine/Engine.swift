import Logging

/// Drives all connections of a client on one dedicated thread.
///
/// Each turn takes messages, fires timers, assigns waiting requests to connections, waits for sockets and processes
/// answers. All state is confined to the thread; the mailbox is the only entrance.
///
/// The state is divided among parts, in the order of the properties: a part calls only those above it.
final class Engine {
    static let statementTimeoutMarginInMilliseconds: Int64 = 5000
    static let internalStatementTimeout: Nanoseconds = 30_000_000_000

    /// PostgreSQL's own limit for a statement whose caller waits for `timeout`.
    static func statementTimeoutInMilliseconds(_ timeout: Nanoseconds) -> Int64 {
        min(timeout / 1_000_000 + statementTimeoutMarginInMilliseconds, Int64(Int32.max))
    }

    private let context: EngineContext
    private let deadlines: Deadlines
    private let leases: Leases
    private let pool: ConnectionPool
    private let dispatcher: Dispatcher
    private let listener: Listener

    private var drain = Drain()
    private var isAbandoned = false
    private var messages: [Mailbox.Message] = []

    init?(configuration: PostgresConfiguration, mailbox: Mailbox, logger: Logger) {
        guard let context = EngineContext(configuration: configuration, mailbox: mailbox, logger: logger) else {
            return nil
        }
        self.context = context
        deadlines = Deadlines(context: context)
        leases = Leases(context: context)
        pool = ConnectionPool(context: context, deadlines: deadlines, leases: leases)
        dispatcher = Dispatcher(context: context, pool: pool)
        listener = Listener(context: context, deadlines: deadlines)
    }

    func run() {
        while !isFinished {
            context.mailbox.take(into: &messages, waiting: dispatcher.waiting.count)
            context.updateTime()
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
        case .release(let lease, let isReusable): pool.release(lease, isReusable: isReusable)
        case .connected(let result, isListener: true): listener.didConnect(result)
        case .connected(let result, isListener: false): pool.didConnect(result)
        case .cancellationSent(let id): pool[id]?.cancellation.didSend(now: context.now)
        case .listen(let subscription): listener.add(subscription)
        case .unlisten(let id): listener.remove(id)
        case .warmUp: pool.isWanted = true
        case .drain(let waiter): drain.request(waiter, context)
        case .abandon: isAbandoned = true
        }
    }

    /// Distributes waiting requests to connections with capacity. Statements go first. Where statements and
    /// transactions compete for the last responsive connection, they alternate from then on.
    private func dispatch() {
        leases.settleReservations(of: pool.connections, slowSince: pool.slowSince)
        dispatcher.sendHeld()
        dispatcher.sendWaiting()
        leases.grant(pool.connections, slowSince: pool.slowSince, expectsConnection: pool.expectsConnection)
        pool.connectIfWanted(demand: demand, isDraining: drain.isRequested)
        listener.connectIfWanted()
    }

    private var demand: Int { dispatcher.waiting.count + leases.waiting.count }

    private var isFinished: Bool {
        isAbandoned || context.now >= drain.deadline
            || (drain.isRequested && demand == 0 && pool.isUnused && !pool.isConnecting && !listener.isConnecting)
    }

    private func finish() {
        for message in context.mailbox.close() {
            switch message {
            case .submit(let request): context.complete(request, .failure(.closed))
            case .connected(.success(let handle), _): handle.close()
            case .listen(let subscription): subscription.finish()
            case .drain(let waiter): drain.request(waiter, context)
            default: break
            }
        }
        // Before the waiting requests, because reservations return to the queue.
        for connection in pool.connections { pool.lose(connection) }
        dispatcher.waiting.forEach { context.complete($0, .failure(.closed)) }
        leases.waiting.forEach { context.complete($0, .failure(.closed)) }
        listener.finish()
        context.metrics.report(waiting: 0, inFlight: 0, connections: 0)
        drain.finish()
    }
}

// MARK: - Requests

extension Engine {
    private func submit(_ request: Request) {
        guard !request.isCancelled else { return context.complete(request, .failure(.givenUp(.cancelled, request))) }
        pool.isWanted = true
        request.isQueued = true
        deadlines.watch(request)
        if let lease = request.lease {
            guard let connection = pool[lease] else {
                return context.complete(request, .failure(.lost(mayHaveExecuted: false)))
            }
            connection.held.append(request)
        } else if case .lease = request.work {
            leases.append(request)
        } else {
            dispatcher.append(request)
        }
    }

    private func cancel(_ request: Request) {
        request.isCancelled = true
        giveUp(request, .cancelled)
    }

    private func fireTimers() {
        pool.fireTimers()
        guard deadlines.beginSweep() else { return }
        dispatcher.waiting.forEach { deadlines.check($0, isQueued: true) }
        leases.waiting.forEach { deadlines.check($0, isQueued: true) }
        pool.checkDeadlines()
        listener.checkDeadline()
        let (overdue, cutOff) = deadlines.endSweep()
        for request in overdue { giveUp(request, .timeout) }
        for request in cutOff {
            context.complete(request, .failure(pool.connectFailure))
            didGiveUpWaiting(request)
        }
    }

    /// Fails a request early. If it was already sent, it is also cancelled on the server once it reaches the head.
    private func giveUp(_ request: Request, _ code: PostgresError.Code) {
        // A cancellation may arrive before its request.
        guard !request.isDone, request.isQueued || request.isSent else { return }
        context.complete(request, .failure(.givenUp(code, request)))
        if request.isSent {
            for connection in pool.connections where connection.inFlight.first?.request === request {
                connection.cancellation.schedule(now: context.now)
            }
        } else if let connection = pool.connections.first(where: { $0.reservation === request }) {
            connection.reservation = nil
        } else if request.lease == nil {
            didGiveUpWaiting(request)
        }
    }

    private func didGiveUpWaiting(_ request: Request) {
        if case .lease = request.work { leases.didGiveUp() } else { dispatcher.didGiveUp(request) }
    }
}

// MARK: - Sockets

extension Engine {
    private func sleep() {
        let waiting = dispatcher.waiting.count
        context.metrics.report(waiting: waiting, inFlight: pool.inFlight, connections: pool.connections.count)
        guard !isFinished else { return }
        let maySleep = context.mailbox.prepareToSleep(waiting: waiting)
        for index in 0..<context.poller.wait(timeout: maySleep ? timeUntilTimer : 0) {
            guard let event = context.poller.event(index), let connection = connection(event.key) else { continue }
            if event.isWritable { flush(connection) }
            // The flush may have found the connection broken.
            if event.isReadable, self.connection(connection.id) != nil { receive(connection) }
        }
    }

    /// Nanoseconds until the next timer; `nil` if there is none.
    private var timeUntilTimer: Nanoseconds? {
        let next = min(deadlines.sweepAt, drain.deadline, pool.timer(demand: demand), listener.timer)
        return next == .max ? nil : max(0, next - context.now)
    }

    private func connection(_ id: Int) -> Connection? {
        listener.connection?.id == id ? listener.connection : pool[id]
    }

    /// Flushes what was sent in this turn. Usually nothing is left: libpq 15 flushes at every sync with one `send` per
    /// statement, which takes 15 % of the client's CPU time. (`PQsendPipelineSync` of libpq 17 does not.)
    private func flush() {
        for connection in pool.connections where connection.isDirty { flush(connection) }
        if let connection = listener.connection, connection.isDirty { flush(connection) }
    }

    private func flush(_ connection: Connection) {
        guard let isEmpty = connection.flush() else { return lose(connection, nil) }
        guard connection.isWatchingForWritable == isEmpty else { return }
        connection.isWatchingForWritable = !isEmpty
        context.poller.watch(connection.socket, key: connection.id, writable: !isEmpty)
    }

    /// Processes all answers that have arrived.
    private func receive(_ connection: Connection) {
        let isListener = connection === listener.connection
        let isAlive = connection.consumeInput()
        context.updateTime()
        while true {
            switch connection.receive() {
            case .answer(let answer) where isListener: listener.didAnswer(answer, on: connection)
            case .answer(let answer):
                dispatcher.didAnswer(answer, on: connection)
                if answer.leavesSetting { return lose(connection, nil) }
            case .pending:
                if isListener { listener.receiveNotifications(from: connection) }
                if !isAlive { lose(connection, nil) }
                return
            case .broken(let serverError): return lose(connection, serverError)
            }
        }
    }

    private func lose(_ connection: Connection, _ serverError: PostgresError?) {
        if connection === listener.connection { listener.lose(connection) } else { pool.lose(connection, serverError) }
    }
}
