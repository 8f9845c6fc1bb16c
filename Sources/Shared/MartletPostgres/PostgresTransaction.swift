import Synchronization

/// A transaction, open while the body of `withTransaction` runs. Do not use it afterwards.
public struct PostgresTransaction: Sendable {
    let client: PostgresClient
    let lease: Lease
    private let start: PostgresTransactionStart
    private let progress = Progress()

    init(client: PostgresClient, lease: Lease, start: PostgresTransactionStart) {
        self.client = client
        self.lease = lease
        self.start = start
    }

    /// Runs one statement. A `timeout` above the configured one sets `statement_timeout` for this statement only. After
    /// a failure PostgreSQL refuses all further statements (25P02) until you roll back to a savepoint.
    public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws -> PostgresRows {
        let request = Request(
            .query, query, timeout: client.nanoseconds(timeout), lease: lease, begin: progress.begins() ? start : nil)
        return try await client.rows(request)
    }

    /// Runs one statement and returns the number of affected rows.
    @discardableResult
    public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws -> Int {
        try await self.query(query, timeout: timeout).affectedRows
    }

    /// Runs a script of any number of statements without parameters, such as a migration file, using the simple query
    /// protocol.
    public func executeScript(_ sql: String, timeout: Duration? = nil) async throws {
        if progress.begins() { try await control("SELECT", begin: start) }
        let nanoseconds = client.nanoseconds(timeout)
        let isLong = nanoseconds > client.nanoseconds(nil)
        if isLong {
            try await control("SET LOCAL statement_timeout = \(Engine.statementTimeoutInMilliseconds(nanoseconds))")
        }
        _ = try await client.rows(Request(.script, PostgresQuery(unescaped: sql), timeout: nanoseconds, lease: lease))
        // After a failure, the rollback also reverts the setting.
        if isLong { try await control("SET LOCAL statement_timeout TO DEFAULT") }
    }

    /// Commits the transaction. Throws if a statement has failed, because PostgreSQL then rolls back.
    func commit() async throws {
        guard progress.hasBegun else { return }
        let rows = try await control("COMMIT")
        guard rows.commandTag == "COMMIT" else {
            var error = PostgresError(.server, "a statement failed, so the transaction was rolled back")
            error.sqlState = "25P02"
            throw error
        }
    }

    /// Rolls back the transaction. False if the connection is in an unknown state.
    func rollBack() async -> Bool {
        guard progress.hasBegun else { return true }
        return (try? await control("ROLLBACK")) != nil
    }

    @discardableResult
    private func control(_ sql: String, begin: PostgresTransactionStart? = nil) async throws -> PostgresRows {
        let request = Request(
            .query, PostgresQuery(unescaped: sql), timeout: client.nanoseconds(nil), lease: lease, begin: begin,
            isTransactionControl: true)
        return try await client.rows(request, isShielded: true)
    }

    /// Tracks whether `BEGIN` has been sent.
    private final class Progress: Sendable {
        private let flag = Atomic<Bool>(false)

        var hasBegun: Bool { flag.load(ordering: .relaxed) }

        /// Returns true for the first caller.
        func begins() -> Bool { flag.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged }
    }
}
