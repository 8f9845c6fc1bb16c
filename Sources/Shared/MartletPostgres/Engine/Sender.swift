import MartletCore

/// Passes requests to libpq. Where a request needs it, also sets `statement_timeout` and the acting staff member.
final class Sender {
    private let queryTimeout: Nanoseconds
    /// Zero for no limit.
    private let lockTimeout: Nanoseconds
    private let parameters = ParameterBuffer()

    init(configuration: PostgresConfiguration) {
        queryTimeout = configuration.queryTimeout.nanoseconds
        lockTimeout = configuration.lockTimeout.nanoseconds
    }

    /// False if libpq refuses; the connection is then unusable. If `isSent` is false, too, nothing was executed.
    func send(_ request: Request, on connection: Connection) -> Bool {
        if case .script = request.work { return connection.sendScript(request) }
        // A request may be sent again.
        request.settings = []
        guard let actor = request.actor, request.lease == nil else { return sendTimed(request, on: connection) }
        // The setting is part of the statement's segment, so that nothing is changed without it, and a failure reverts
        // it. `SET LOCAL` would make PostgreSQL log a warning, because a segment is not a transaction block.
        request.settings.append("SET martlet.staff = '\(actor.text)'")
        return sendTimed(request, on: connection) && sendSetting("RESET martlet.staff", of: request, on: connection)
    }

    private func sendTimed(_ request: Request, on connection: Connection) -> Bool {
        if let limit = request.query.timeLimit, request.lease == nil {
            return send(request, within: limit, on: connection)
        }
        if request.timeout > queryTimeout { return sendWithLongTimeout(request, on: connection) }
        return connection.send(request, parameters: parameters)
    }

    /// Sets `statement_timeout` in the segment of the statement. The new value applies, because PostgreSQL starts a new
    /// timer for the messages of the statement. A failure reverts the setting.
    private func send(_ request: Request, within limit: Duration, on connection: Connection) -> Bool {
        let nanoseconds = limit.nanoseconds
        let forLocks = min(lockTimeout > 0 ? lockTimeout : .max, nanoseconds / 3 * 2)
        request.settings.append("SET statement_timeout = \(max(1, nanoseconds / 1_000_000))")
        request.settings.append("SET lock_timeout = \(max(1, forLocks / 1_000_000))")
        return connection.send(request, parameters: parameters)
            && sendSetting("RESET statement_timeout", after: ["RESET lock_timeout"], of: request, on: connection)
    }

    /// Raises `statement_timeout` for one statement. Outside transactions this happens in separate segments around it,
    /// because statements such as `CREATE INDEX CONCURRENTLY` must be alone in theirs. In a transaction, which may
    /// begin with the statement, the setting is part of its segment.
    private func sendWithLongTimeout(_ request: Request, on connection: Connection) -> Bool {
        let milliseconds = Engine.statementTimeoutInMilliseconds(request.timeout)
        if request.lease != nil {
            request.settings.append("SET LOCAL statement_timeout = \(milliseconds)")
            return connection.send(request, parameters: parameters)
                && sendSetting("SET LOCAL statement_timeout TO DEFAULT", of: request, on: connection)
        }
        return sendSetting("SET statement_timeout = \(milliseconds)", of: request, on: connection)
            && connection.send(request, parameters: parameters)
            && sendSetting("RESET statement_timeout", of: request, on: connection)
    }

    private func sendSetting(
        _ sql: String, after others: [String] = [], of request: Request, on connection: Connection
    ) -> Bool {
        var query = PostgresQuery(unescaped: sql)
        query.isPrepared = false
        query.role = request.query.role
        let setting = Request(
            .internalStatement, query, timeout: request.timeout + Engine.internalStatementTimeout,
            lease: request.lease)
        setting.settings = others
        return connection.send(setting, parameters: parameters)
    }
}
