/// Distributes statements to connections with capacity and handles their answers.
final class Dispatcher {
    /// The protocol counts parameters in 16 bits.
    private static let maximumParameters = 65_535
    /// Maximum number of statements per batch of one role on a connection while another role waits. Between two batches
    /// the connection is unused for a round trip.
    private static let maximumBatch = 16

    private let context: EngineContext
    private let pool: ConnectionPool
    private let sender: Sender
    /// The statements outside transactions that have not been sent.
    private(set) var waiting = TenantQueues()

    init(context: EngineContext, pool: ConnectionPool) {
        self.context = context
        self.pool = pool
        sender = Sender(configuration: context.configuration)
    }

    func append(_ request: Request) { waiting.append(request) }

    /// Records that a waiting statement was given up.
    func didGiveUp(_ request: Request) { waiting.didGiveUp(request) }

    /// Sends the statements of transactions.
    func sendHeld() {
        for connection in pool.connections { sendHeld(connection) }
    }

    /// Roles take turns at idle connections; further statements of a role follow its own ones.
    ///
    /// No statement is sent behind one of another role: that one may turn out to wait for a lock, and all statements
    /// sent before this is noticed would wait, too (30 inserts into a locked table delayed others by as many lock
    /// timeouts).
    func sendWaiting() {
        var stuck: [Tenant] = []
        while pool.connections.contains(where: { $0.isIdle && isOpen($0) }), let (tenant, request) = waiting.next() {
            let mayTakeIdle = tenant.connectionCount < maximumConnectionsOfTenant
            let isFitting = { (connection: Connection) in connection.isIdle ? mayTakeIdle : connection.tenant === tenant
            }
            if let connection = leastLoaded(for: request, where: isFitting) {
                waiting.take(from: tenant)
                send(request, on: connection)
            } else {
                stuck.append(tenant)
            }
        }
        waiting.returnTurns(of: stuck)
        if !waiting.isEmpty { extendBatches() }
    }

    /// Limits batches while another role waits, so that the connection becomes idle and available to that role.
    private func extendBatches() {
        for connection in pool.connections where !connection.isIdle {
            guard let tenant = connection.tenant, !tenant.waiting.isEmpty else { continue }
            let isLimited = waiting.contains { $0 !== tenant && $0.connectionCount < maximumConnectionsOfTenant }
            let limit = isLimited ? Self.maximumBatch : .max
            while let request = tenant.waiting.first(),
                let connection = leastLoaded(
                    for: request, where: { !$0.isIdle && $0.tenant === tenant && $0.batchSize < limit })
            {
                waiting.takeOutOfTurn(from: tenant)
                send(request, on: connection)
            }
        }
    }

    /// Whether the connection accepts statements. A connection with a slow head does not, because statements cannot be
    /// taken back once sent.
    private func isOpen(_ connection: Connection) -> Bool {
        connection.isShared(depth: context.configuration.maximumPipelineDepth)
            && !connection.isSlow(since: pool.slowSince)
    }

    /// No role uses all connections at once, so that a role whose statements all wait for a lock leaves one to the
    /// others.
    private var maximumConnectionsOfTenant: Int { max(1, context.configuration.maximumConnections - 1) }

    /// Prefers the fewest statements in flight; a role switch counts as two.
    private func leastLoaded(for request: Request, where isFitting: (Connection) -> Bool) -> Connection? {
        var best: (connection: Connection, load: Int)?
        for connection in pool.connections where isOpen(connection) && isFitting(connection) {
            let load = connection.inFlight.count + (connection.needsRoleSwitch(for: request) ? 2 : 0)
            if load < best?.load ?? .max { best = (connection, load) }
        }
        return best?.connection
    }

    private func sendHeld(_ connection: Connection) {
        while let request = connection.held.first {
            guard !request.isDone else {
                _ = connection.held.popFirst()
                continue
            }
            var isReady = connection.isOpenToHolder(depth: context.configuration.maximumPipelineDepth)
            if case .script = request.work { isReady = isReady && connection.isIdle }
            guard isReady else { return }
            _ = connection.held.popFirst()
            send(request, on: connection)
        }
    }

    private func send(_ request: Request, on connection: Connection) {
        if let refusal = refusal(request) { return context.complete(request, .failure(refusal)) }
        if connection.isIdle { connection.beginBatch(of: request.tenant, now: context.now) }
        connection.batchSize += 1
        request.tenant?.didSend(on: connection.id)
        if !sender.send(request, on: connection) { didNotSend(request, on: connection) }
    }

    private func refusal(_ request: Request) -> PostgresError? {
        guard case .query = request.work, !request.isTransactionControl else { return nil }
        if request.query.binds.count > Self.maximumParameters {
            return PostgresError(.misuse, "a statement can have at most \(Self.maximumParameters) parameters")
        }
        return StatementRule.refusal(request.query.text, inTransaction: request.lease != nil)
    }

    /// Called when libpq did not accept the request. Without a sync it was not executed, so another connection may run
    /// it.
    private func didNotSend(_ request: Request, on connection: Connection) {
        request.tenant?.forget(connection: connection.id)
        if !request.isSent {
            if request.lease == nil, request.retries <= context.configuration.maximumConnections {
                request.retries += 1
                waiting.prepend(request)
            } else {
                context.complete(request, .failure(.lost(mayHaveExecuted: false)))
            }
        }
        pool.lose(connection)
    }
}

// MARK: - Answers

extension Dispatcher {
    func didAnswer(_ answer: Connection.Answer, on connection: Connection) {
        let request = answer.segment.request
        connection.headSince = context.now
        request.tenant?.didAnswer(on: connection.id)
        if let next = connection.inFlight.first?.request, next.isDone {
            connection.cancellation.schedule(now: context.now)
        }
        if answer.failure?.isRefusedRole == true {
            for connection in pool.connections { connection.hasStaleRoles = true }
        }
        if case .script = request.work { connection.roles.invalidate() }
        if case .query = request.work, !request.isDone,
            answer.failure.map({ isWorthRetrying($0, request, connection) }) == true
        {
            request.retries += 1
            request.isSent = false
            waiting.prepend(request)
        } else if let failure = answer.failure {
            context.complete(request, .failure(failure))
        } else if let rows = answer.rows {
            context.complete(request, .success(.rows(rows)))
        } else {
            context.complete(
                request,
                .failure(PostgresError(.protocolViolation, "the statement returned no result", mayHaveExecuted: true)))
        }
    }

    /// Whether the statement itself did not cause the failure: its prepared form or the role list was stale, or a
    /// cancellation hit the wrong statement. Outside a transaction it had no effect, so it is sent again.
    private func isWorthRetrying(_ failure: PostgresError, _ request: Request, _ connection: Connection) -> Bool {
        guard request.lease == nil, request.retries < 3 else { return false }
        if failure.isRefusedRole { return true }
        if failure.isStalePreparedStatement { return request.query.isPrepared }
        return failure.sqlState == "57014" && connection.cancellation.mayHaveHitAnother(now: context.now)
    }
}
