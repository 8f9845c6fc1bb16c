/// The path of requests from the mailbox to a connection and back.
extension Engine {
    func submit(_ request: Request) {
        guard !request.isCancelled else { return complete(request, .failure(.givenUp(.cancelled, request))) }
        attempt.isWanted = true
        request.isQueued = true
        watchDeadline(of: request)
        if let lease = request.lease {
            guard let connection = connection(lease.connection), connection.lease === lease else {
                return complete(request, .failure(.lost(mayHaveExecuted: false)))
            }
            connection.held.append(request)
        } else if case .lease = request.work {
            waitingForLease.append(request)
        } else {
            waiting.append(request)
        }
    }

    /// Resumes the task that waits for the request. Only the first call has an effect.
    func complete(_ request: Request, _ result: Result<Request.Reply, PostgresError>) {
        guard !request.isDone else { return }
        if case .internalStatement = request.work {} else { metrics.didAnswer(after: now - request.startedAt) }
        if case .failure(let error) = result { metrics.didFail(error.code) }
        request.complete(result, now: now)
    }

    func cancel(_ request: Request) {
        request.isCancelled = true
        giveUp(request, .cancelled)
    }

    /// Fails a request early. If it was already sent, it is also cancelled on the server once it reaches the head.
    func giveUp(_ request: Request, _ code: PostgresError.Code) {
        // A cancellation may arrive before its request.
        guard !request.isDone, request.isQueued || request.isSent else { return }
        complete(request, .failure(.givenUp(code, request)))
        if request.isSent {
            for connection in connections where connection.inFlight.first?.request === request {
                connection.cancellation.schedule(now: now)
            }
        } else if let connection = connections.first(where: { $0.reservation === request }) {
            connection.reservation = nil
        } else if request.lease == nil {
            didGiveUpWaiting(request)
        }
    }

    func didGiveUpWaiting(_ request: Request) {
        if case .lease = request.work { waitingForLease.didGiveUp() } else { waiting.didGiveUp(request) }
    }

    /// Distributes waiting requests to connections with capacity. Statements go first. Where statements and
    /// transactions compete for the last responsive connection, they alternate from then on.
    func dispatch() {
        grantReservations()
        for connection in connections { sendHeld(connection) }
        sendWaiting()
        grantLeases()
        connectIfWanted()
        reconnectListenerIfWanted()
    }

    /// Roles take turns at idle connections; further statements of a role follow its own ones.
    ///
    /// No statement is sent behind one of another role: that one may turn out to wait for a lock, and all statements
    /// sent before this is noticed would wait, too (30 inserts into a locked table delayed others by as many lock
    /// timeouts).
    private func sendWaiting() {
        var stuck: [Tenant] = []
        while connections.contains(where: { $0.isIdle && isOpen($0) }), let (tenant, request) = waiting.next() {
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
        for connection in connections where !connection.isIdle {
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
        connection.isShared(depth: configuration.maximumPipelineDepth) && !connection.isSlow(since: slowSince)
    }

    /// Heads that became the head before this time are slow.
    var slowSince: Nanoseconds { now - configuration.maximumHeadAge.nanoseconds }

    /// No role uses all connections at once, so that a role whose statements all wait for a lock leaves one to the
    /// others.
    private var maximumConnectionsOfTenant: Int { max(1, configuration.maximumConnections - 1) }

    /// Prefers the fewest statements in flight; a role switch counts as two.
    private func leastLoaded(for request: Request, where isFitting: (Connection) -> Bool) -> Connection? {
        var best: (connection: Connection, load: Int)?
        for connection in connections where isOpen(connection) && isFitting(connection) {
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
            var isReady = connection.isOpenToHolder(depth: configuration.maximumPipelineDepth)
            if case .script = request.work { isReady = isReady && connection.isIdle }
            guard isReady else { return }
            _ = connection.held.popFirst()
            send(request, on: connection)
        }
    }

    func send(_ request: Request, on connection: Connection) {
        if let refusal = refusal(request) { return complete(request, .failure(refusal)) }
        if connection.isIdle { connection.beginBatch(of: request.tenant, now: now) }
        connection.batchSize += 1
        request.tenant?.didSend(on: connection.id)
        if case .script = request.work {
            if !connection.sendScript(request) { refuse(request, on: connection) }
        } else if request.timeout > configuration.queryTimeout.nanoseconds {
            sendWithLongTimeout(request, on: connection)
        } else if !connection.send(request, parameters: parameters) {
            refuse(request, on: connection)
        }
        needsFlush(connection)
    }

    /// Raises `statement_timeout` for one statement. Outside transactions this happens in separate segments around it,
    /// because statements such as `CREATE INDEX CONCURRENTLY` must be alone in theirs. In a transaction, which may
    /// begin with the statement, the setting is part of its segment.
    private func sendWithLongTimeout(_ request: Request, on connection: Connection) {
        let milliseconds = Self.statementTimeoutInMilliseconds(request.timeout)
        let isSent: Bool
        if request.lease != nil {
            request.setting = "SET LOCAL statement_timeout = \(milliseconds)"
            isSent =
                connection.send(request, parameters: parameters)
                && connection.send(
                    setting("SET LOCAL statement_timeout TO DEFAULT", of: request), parameters: parameters)
        } else {
            isSent =
                connection.send(setting("SET statement_timeout = \(milliseconds)", of: request), parameters: parameters)
                && connection.send(request, parameters: parameters)
                && connection.send(setting("RESET statement_timeout", of: request), parameters: parameters)
        }
        if !isSent { refuse(request, on: connection) }
    }

    private func setting(_ sql: String, of request: Request) -> Request {
        var query = PostgresQuery(unescaped: sql)
        query.isPrepared = false
        query.role = request.query.role
        return Request(
            .internalStatement, query, timeout: request.timeout + Self.internalStatementTimeout, lease: request.lease)
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
    private func refuse(_ request: Request, on connection: Connection) {
        request.tenant?.forget(connection: connection.id)
        if !request.isSent {
            if request.lease == nil, request.retries <= configuration.maximumConnections {
                request.retries += 1
                waiting.prepend(request)
            } else {
                complete(request, .failure(.lost(mayHaveExecuted: false)))
            }
        }
        lose(connection, nil)
    }

    /// Processes all answers that have arrived.
    func receive(_ connection: Connection) {
        let isAlive = connection.consumeInput()
        now = monotonicNow()
        while true {
            switch connection.receive() {
            case .answer(let answer): handle(answer, of: connection)
            case .pending:
                if listener.connection === connection { receiveNotifications(connection) }
                if !isAlive { lose(connection, nil) }
                return
            case .broken(let farewell): return lose(connection, farewell)
            }
        }
    }

    private func handle(_ answer: Connection.Answer, of connection: Connection) {
        let request = answer.segment.request
        connection.headSince = now
        request.tenant?.didAnswer(on: connection.id)
        if let next = connection.inFlight.first?.request, next.isDone { connection.cancellation.schedule(now: now) }
        if answer.failure?.isRefusedRole == true {
            for connection in connections { connection.hasStaleRoles = true }
        }
        switch request.work {
        case .listen(let channel): return didListen(channel, answer.failure, on: connection)
        case .unlisten: return
        case .query where !request.isDone && answer.failure.map { isWorthRetrying($0, request, connection) } == true:
            request.retries += 1
            request.isSent = false
            waiting.prepend(request)
            return
        case .script: connection.roles.invalidate()
        case .query, .lease, .internalStatement: break
        }
        if let failure = answer.failure {
            complete(request, .failure(failure))
        } else if let rows = answer.rows {
            complete(request, .success(.rows(rows)))
        } else {
            complete(
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
        return failure.sqlState == "57014" && connection.cancellation.mayHaveHitNeighbour(now: now)
    }
}

extension PostgresError {
    static func givenUp(_ code: Code, _ request: Request) -> PostgresError {
        PostgresError(
            code, code == .timeout ? "the query timed out" : "the task was cancelled", mayHaveExecuted: request.isSent)
    }
}
