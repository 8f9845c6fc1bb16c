import MartletCore

/// A unit of work for the engine, and what waits for it.
///
/// `@unchecked Sendable`: whoever creates a request accesses it until it is in the mailbox, then only the engine's
/// thread does. The mailbox's lock orders the two.
final class Request: @unchecked Sendable {
    enum Work {
        /// A statement on any connection, or on the leased one.
        case query
        /// Exclusive use of a connection.
        case lease
        /// Statements in the simple query protocol on the leased connection.
        case script
        /// A statement of the engine itself, without a waiting caller.
        case internalStatement
        case listen(channel: String)
        case unlisten
    }

    enum Reply {
        case rows(PostgresResult)
        case lease(Lease)
    }

    let work: Work
    let query: PostgresQuery
    let lease: Lease?
    /// How to open the transaction. Sent in the segment of its first statement.
    let begin: PostgresTransactionStart?
    /// Whether the statement may be `COMMIT`, `ROLLBACK` or similar, which callers must not send themselves.
    let isTransactionControl: Bool
    let startedAt: Nanoseconds
    let timeout: Nanoseconds
    private let usage: RequestUsage?
    /// The staff member who causes the statement, for the audit log; nil for other callers.
    let actor: StaffActor?

    private var completion: ((Result<Reply, PostgresError>) -> Void)?
    private(set) var isDone = false
    /// Cancelled before it reached the engine.
    var isCancelled = false
    /// Received by the engine.
    var isQueued = false
    /// Passed to libpq.
    var isSent = false
    /// The role it belongs to, unless it runs on a lease.
    var tenant: Tenant?
    /// Settings for the rest of the transaction, sent before the statement in the same segment.
    var settings: [String] = []
    /// Number of retries after a stale statement, a stale role list or a misdirected cancellation.
    var retries = 0

    init(
        _ work: Work, _ query: PostgresQuery, timeout: Nanoseconds, lease: Lease? = nil,
        begin: PostgresTransactionStart? = nil, isTransactionControl: Bool = false, usage: RequestUsage? = .current
    ) {
        self.work = work
        self.query = query
        self.timeout = timeout
        self.lease = lease
        self.begin = begin
        self.isTransactionControl = isTransactionControl
        self.usage = usage
        actor = StaffActor.current
        startedAt = monotonicNow()
    }

    var deadline: Nanoseconds { startedAt + timeout }

    /// - Parameter completion: Called once, on the engine's thread or, if the request is refused, on the caller's.
    func attach(_ completion: @escaping (Result<Reply, PostgresError>) -> Void) {
        self.completion = completion
    }

    /// Passes the result to what waits for it. Only the first call has an effect.
    func complete(_ result: Result<Reply, PostgresError>, now: Nanoseconds) {
        guard !isDone else { return }
        isDone = true
        usage?.record(nanoseconds: now - startedAt)
        completion?(result)
        completion = nil
    }
}

/// Exclusive use of one connection. After the connection is lost, every statement on the lease fails.
final class Lease: Sendable {
    let connection: Int

    init(connection: Int) { self.connection = connection }
}

/// The parameters of a transaction's `BEGIN`.
struct PostgresTransactionStart: Sendable {
    let isolation: PostgresIsolation
    let isReadOnly: Bool
    let role: PostgresIdentifier?

    var sql: String { "BEGIN ISOLATION LEVEL \(isolation.sql) \(isReadOnly ? "READ ONLY" : "READ WRITE")" }
}

extension PostgresError {
    static func givenUp(_ code: Code, _ request: Request) -> PostgresError {
        PostgresError(
            code, code == .timeout ? "the query timed out" : "the task was cancelled", mayHaveExecuted: request.isSent)
    }
}
