import CLibPQ
import MartletCore

/// One connection in pipeline mode, confined to the engine's thread.
///
/// A sync follows every statement, so that a failure does not affect the others.
final class Connection {
    let id: Int
    let socket: Int32
    private(set) var inFlight = FIFO<Segment>()
    /// When the segment at the head became the head.
    var headSince: Nanoseconds = 0
    /// The role whose statements are in flight outside transactions. Meaningless while the connection is idle.
    private(set) var tenant: Tenant?
    /// Number of statements sent since the connection was last idle.
    var batchSize = 0
    var roles = RoleTracker()
    /// Whether the session must reload its list of roles before the next role switch or transaction.
    ///
    /// PostgreSQL (15: `roles_is_member_of` in acl.c) marks the list as valid after reading it, even if a role was
    /// granted in the meantime. Such a list refuses the new role until another role is granted or revoked.
    var hasStaleRoles = false
    var statements: StatementCache

    /// The transaction that uses the connection exclusively, and its statements not sent yet.
    var lease: Lease?
    var held = FIFO<Request>()
    /// The transaction that will get the connection once it is idle.
    var reservation: Request?

    /// Cancellation of the statement at the head.
    var cancellation = Cancellation()
    /// Whether a script is running, which takes libpq out of pipeline mode.
    private(set) var isRunningScript = false
    /// Whether anything was sent since the last flush.
    private(set) var isDirty = false
    var isWatchingForWritable = false

    let pointer: OpaquePointer
    private var progress = SegmentProgress()
    private var lastSegment = 0
    private var staleStatements: [PreparedStatement] = []
    /// The session's `plan_cache_mode`; nil after a failure, which may have reverted it. Statements that were sent
    /// behind the failing one may then run with the other mode, which only changes how long they take.
    private var plansForValues: Bool? = false

    init(id: Int, handle: ConnectionHandle, statementCacheSize: Int) {
        self.id = id
        pointer = handle.pointer
        socket = handle.socket
        statements = StatementCache(capacity: statementCacheSize)
    }

    deinit { PQfinish(pointer) }

    var isIdle: Bool { inFlight.isEmpty }

    /// Assigns the connection to `tenant`, or to a transaction, until it is idle again.
    func beginBatch(of tenant: Tenant?, now: Nanoseconds) {
        self.tenant = tenant
        batchSize = 0
        headSince = now
    }

    /// Whether the connection accepts statements outside transactions.
    func isShared(depth: Int) -> Bool {
        lease == nil && reservation == nil && !cancellation.isRunning && inFlight.count < depth
    }

    /// Whether the head has been the same since before `time`. It may wait for a lock, which would delay everything
    /// sent after it.
    func isSlow(since time: Nanoseconds) -> Bool { !inFlight.isEmpty && headSince < time }

    /// Whether the connection accepts a statement from its lease holder.
    func isOpenToHolder(depth: Int) -> Bool {
        !cancellation.isRunning && !isRunningScript && inFlight.count < depth
    }

    func removeAllInFlight() -> [Segment] { inFlight.removeAll() }
}

// MARK: - Sending

extension Connection {
    /// Sends a request's segment. False if libpq refuses; the connection is then unusable.
    func send(_ request: Request, parameters: ParameterBuffer) -> Bool {
        var segment = Segment(number: lastSegment + 1, request: request, steps: [], statement: nil, switchedRole: nil)
        if request.lease == nil, !deallocateStaleStatements(&segment) { return false }
        guard sendPrefix(request, &segment), sendStatement(request, &segment, parameters), PQpipelineSync(pointer) == 1
        else {
            return false
        }
        append(segment)
        return true
    }

    /// Runs several SQL statements using the simple query protocol. Requires an idle connection.
    func sendScript(_ request: Request) -> Bool {
        guard PQexitPipelineMode(pointer) == 1, PQsendQuery(pointer, request.query.sql) == 1 else { return false }
        isRunningScript = true
        append(
            Segment(number: lastSegment + 1, request: request, steps: [.statement], statement: nil, switchedRole: nil))
        return true
    }

    /// Whether all output was sent; `nil` if the connection is broken.
    func flush() -> Bool? {
        isDirty = false
        return switch PQflush(pointer) {
        case 0: true
        case 1: false
        default: nil
        }
    }

    /// Whether the request needs a role switch on this connection.
    func needsRoleSwitch(for request: Request) -> Bool {
        request.lease == nil && roles.needsSwitch(to: request.query.role)
    }

    private func append(_ segment: Segment) {
        segment.request.isSent = true
        lastSegment = segment.number
        if let role = segment.switchedRole { roles.didSendSwitch(to: role, segment: segment.number) }
        inFlight.append(segment)
        isDirty = true
    }

    private func sendPrefix(_ request: Request, _ segment: inout Segment) -> Bool {
        guard sendRoleOrBegin(request, &segment) else { return false }
        for setting in request.settings {
            guard sendCommand(setting) else { return false }
            segment.steps.append(.setting)
        }
        return true
    }

    private func sendRoleOrBegin(_ request: Request, _ segment: inout Segment) -> Bool {
        if let begin = request.begin {
            guard sendCommand(begin.sql) else { return false }
            segment.steps.append(.begin)
            if let actor = request.actor {
                guard sendCommand("SET LOCAL martlet.staff = '\(actor.text)'") else { return false }
                segment.steps.append(.setting)
            }
            // After `BEGIN`, because a query before it would fix the isolation level.
            guard forgetStaleRoles(&segment) else { return false }
            if roles.needsSwitch(to: begin.role) {
                guard sendCommand("SET LOCAL role TO \(begin.role?.quoted ?? "DEFAULT")") else { return false }
                segment.steps.append(.setting)
            }
        } else if needsRoleSwitch(for: request) {
            guard forgetStaleRoles(&segment) else { return false }
            guard sendCommand(request.query.role.map { "SET ROLE \($0.quoted)" } ?? "RESET ROLE") else { return false }
            segment.steps.append(.switchRole)
            segment.switchedRole = .some(request.query.role)
        }
        return true
    }

    /// PostgreSQL caches the role list of one member at a time, so a query about another member discards it.
    private func forgetStaleRoles(_ segment: inout Segment) -> Bool {
        guard hasStaleRoles else { return true }
        hasStaleRoles = false
        segment.steps.append(.setting)
        return sendCommand("SELECT pg_catalog.pg_has_role('pg_monitor', 'pg_signal_backend', 'MEMBER')")
    }

    private func sendStatement(_ request: Request, _ segment: inout Segment, _ parameters: ParameterBuffer) -> Bool {
        let query = request.query
        // In a transaction, do not change the session's `plan_cache_mode`: a failure or a rollback would revert it
        // unnoticed, and after a failure only the end of the transaction may be sent. Sending the statement unprepared
        // has the same effect, because PostgreSQL then plans it for its values.
        let isPrepared = query.isWorthPreparing && !(request.lease != nil && query.isPlannedForValues)
        let known = isPrepared ? statements.find(query) : nil
        guard isPrepared, known?.isConfirmed != false else { return sendUnprepared(query, &segment, parameters) }
        if request.lease == nil, !sendPlanning(query, &segment) { return false }
        segment.statement = known
        if known == nil, !sendPrepare(query, &segment, parameters) { return false }
        segment.steps.append(.statement)
        return parameters.with(query) { count in
            segment.statement?.name.withUnsafeBufferPointer {
                PQsendQueryPrepared(
                    pointer, $0.baseAddress, count, parameters.values, parameters.lengths, parameters.formats, 1)
            } ?? 0
        } == 1
    }

    /// Sets whether prepared statements are planned for their values, if it was set otherwise before.
    private func sendPlanning(_ query: PostgresQuery, _ segment: inout Segment) -> Bool {
        guard plansForValues != query.isPlannedForValues else { return true }
        plansForValues = query.isPlannedForValues
        segment.steps.append(.setting)
        return sendCommand("SET plan_cache_mode TO \(query.isPlannedForValues ? "force_custom_plan" : "auto")")
    }

    private func sendPrepare(_ query: PostgresQuery, _ segment: inout Segment, _ parameters: ParameterBuffer) -> Bool {
        while let evicted = statements.evict(for: query) { staleStatements.append(evicted) }
        let statement = statements.insert(query)
        segment.statement = statement
        segment.steps.append(.prepare(statement))
        return parameters.with(query) { count in
            statement.name.withUnsafeBufferPointer {
                PQsendPrepare(pointer, $0.baseAddress, query.sql, count, parameters.types)
            }
        } == 1
    }

    private func sendUnprepared(_ query: PostgresQuery, _ segment: inout Segment, _ parameters: ParameterBuffer) -> Bool
    {
        segment.steps.append(.statement)
        return parameters.with(query) { count in
            PQsendQueryParams(
                pointer, query.sql, count, parameters.types, parameters.values, parameters.lengths, parameters.formats,
                1)
        } == 1
    }

    private func sendCommand(_ sql: String) -> Bool {
        PQsendQueryParams(pointer, sql, 0, nil, nil, nil, nil, 1) == 1
    }

    /// Deallocates evicted statements. Only outside transactions, where a failure is harmless. Each gets its own
    /// segment before `next`, which is renumbered.
    private func deallocateStaleStatements(_ next: inout Segment) -> Bool {
        while let statement = staleStatements.popLast() {
            let name = statement.name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            guard sendCommand("DEALLOCATE \(name)"), PQpipelineSync(pointer) == 1 else { return false }
            let request = Request(.internalStatement, PostgresQuery(), timeout: Engine.internalStatementTimeout)
            append(
                Segment(number: next.number, request: request, steps: [.statement], statement: nil, switchedRole: nil))
            next = Segment(number: next.number + 1, request: next.request, steps: [], statement: nil, switchedRole: nil)
        }
        return true
    }
}

// MARK: - Receiving

extension Connection {
    struct Answer {
        let segment: Segment
        let rows: PostgresResult?
        let failure: PostgresError?

        /// Whether setting or resetting something around a statement failed: later statements would run with it.
        var leavesSetting: Bool {
            guard case .internalStatement = segment.request.work, segment.request.lease == nil else { return false }
            return failure != nil && !segment.request.query.text.isEmpty
        }
    }

    enum Receipt {
        case answer(Answer)
        /// No complete segment has arrived yet.
        case pending
        /// The connection is unusable. The error is the last one the server sent, if any.
        case broken(PostgresError?)
    }

    /// Reads the available input from the socket. False if the connection has ended.
    func consumeInput() -> Bool { PQconsumeInput(pointer) == 1 }

    /// Returns the next complete segment.
    func receive() -> Receipt {
        while let segment = inFlight.first {
            if PQisBusy(pointer) != 0 {
                return PQstatus(pointer) == CONNECTION_BAD ? .broken(progress.failure) : .pending
            }
            guard let result = PQgetResult(pointer) else {
                guard progress.receiveEnd() else { return .broken(progress.failure) }
                if isRunningScript {
                    guard PQenterPipelineMode(pointer) == 1 else { return .broken(progress.failure) }
                    isRunningScript = false
                    return finish(segment)
                }
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                return finish(segment)
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                progress.receive(PostgresResult(result), stepCount: segment.steps.count)
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                progress.receiveSkipped()
            case PGRES_FATAL_ERROR:
                progress.receiveFailure(PostgresError(result: result))
                PQclear(result)
                if PQstatus(pointer) == CONNECTION_BAD { return .broken(progress.failure) }
            default:
                PQclear(result)
                return .broken(PostgresError(.protocolViolation, "unexpected result; COPY is not supported"))
            }
        }
        return .pending
    }

    /// Returns the next notification.
    func receiveNotification() -> (channel: String, payload: String, processID: Int)? {
        guard let notification = PQnotifies(pointer) else { return nil }
        defer { PQfreemem(notification) }
        let content = notification.pointee
        return (String(cString: content.relname), String(cString: content.extra), Int(content.be_pid))
    }

    private func finish(_ segment: Segment) -> Receipt {
        _ = inFlight.popFirst()
        defer { progress = SegmentProgress() }
        cancellation.headDidChange()
        let hasFailed = progress.failure != nil
        if hasFailed { plansForValues = nil }
        roles.didAnswer(segment: segment.number, switchedTo: hasFailed ? nil : segment.switchedRole)
        reviewStatement(of: segment)
        return .answer(Answer(segment: segment, rows: progress.rows, failure: progress.failure))
    }

    /// Keeps a statement in the cache only if the server has a current version of it.
    private func reviewStatement(of segment: Segment) {
        guard let statement = segment.statement else { return }
        let prepareStep = segment.steps.firstIndex { if case .prepare = $0 { true } else { false } }
        if let prepareStep, progress.finishedSteps <= prepareStep {
            statements.remove(statement)
        } else {
            statement.isConfirmed = true
        }
        if let failure = progress.failure, failure.isStalePreparedStatement, statements.remove(statement),
            failure.sqlState != "26000"
        {
            staleStatements.append(statement)
        }
    }
}
