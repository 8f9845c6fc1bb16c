extension PostgresClient {
    /// Runs `body` in a transaction, which commits when `body` returns and rolls back when it throws or the task is
    /// cancelled.
    ///
    /// The transaction uses one connection exclusively. It begins with the first statement of `body`, under `role`.
    /// After a serialization failure or deadlock, `body` runs again, up to `serializationRetries` times, so it must
    /// have no effects outside the database. It also runs again, at most three times, if the session may not switch to
    /// the role. If the commit fails with `mayHaveExecuted`, the transaction may or may not have been committed.
    @discardableResult
    public func withTransaction<T: Sendable>(
        isolation: PostgresIsolation = .readCommitted, readOnly: Bool = false, role: PostgresIdentifier? = nil,
        serializationRetries: Int = 0, actor: isolated (any Actor)? = #isolation,
        _ body: (PostgresTransaction) async throws -> T
    ) async throws -> T {
        let start = PostgresTransactionStart(isolation: isolation, isReadOnly: readOnly, role: role)
        var retries = 0
        var refusals = 0
        while true {
            do {
                return try await attemptTransaction(start, body)
            } catch let error as PostgresError where error.isSerializationFailure && retries < serializationRetries {
                retries += 1
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...min(200, 5 << min(retries, 6)))))
            } catch let error as PostgresError where error.isRefusedRole && refusals < 3 {
                // The role may have been granted just now, and another attempt or session will see it.
                refusals += 1
            }
        }
    }

    /// Runs a script of any number of statements without parameters, on a connection that is then closed. For
    /// maintenance, and for statements that PostgreSQL refuses in a transaction, such as `CREATE INDEX CONCURRENTLY`
    /// (which must be alone in its script). Several statements form one transaction unless the script says otherwise.
    /// They run under `role` and wait for locks as long as `timeout` allows.
    public func executeScript(_ sql: String, role: PostgresIdentifier? = nil, timeout: Duration? = nil) async throws {
        let lease = try await lease()
        defer { mailbox.post(.release(lease, isReusable: false)) }
        let timeout = nanoseconds(timeout)
        let limit = Engine.statementTimeoutInMilliseconds(timeout)
        let become = role.map { "SET ROLE \($0.quoted)" } ?? "RESET ROLE"
        for sql in ["\(become); SET statement_timeout = \(limit); SET lock_timeout = 0", sql] {
            _ = try await rows(Request(.script, PostgresQuery(unescaped: sql), timeout: timeout, lease: lease))
        }
    }

    private func attemptTransaction<T: Sendable>(
        _ start: PostgresTransactionStart, actor: isolated (any Actor)? = #isolation,
        _ body: (PostgresTransaction) async throws -> T
    ) async throws -> T {
        let lease = try await lease()
        let transaction = PostgresTransaction(client: self, lease: lease, start: start)
        var isReusable = false
        defer { mailbox.post(.release(lease, isReusable: isReusable)) }
        do {
            let value = try await body(transaction)
            guard !Task.isCancelled else { throw PostgresError(.cancelled, "the task was cancelled") }
            try await transaction.commit()
            isReusable = true
            return value
        } catch {
            isReusable = await transaction.rollBack()
            throw error
        }
    }

    private func lease() async throws -> Lease {
        guard case .lease(let lease) = try await reply(to: Request(.lease, PostgresQuery(), timeout: nanoseconds(nil)))
        else {
            throw PostgresError(.protocolViolation, "expected a lease")
        }
        return lease
    }
}
