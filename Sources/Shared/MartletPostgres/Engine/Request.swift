import MartletCore

/// One piece of work on its way through the engine, and the task that waits for it.
///
/// `@unchecked Sendable`: the task that makes a request touches it until it has put it into the mailbox; from then on only the
/// engine's thread does. The mailbox's lock orders the two.
final class Request: @unchecked Sendable {
    enum Work {
        /// A statement on any connection, or on the leased one.
        case query
        /// The exclusive use of a connection.
        case lease
        /// Statements by the simple protocol on the leased connection.
        case script
        /// A statement of the engine's own that nobody waits for.
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
    /// What opens the transaction, sent in one segment in front of its first statement.
    let begin: PostgresTransactionStart?
    /// Whether the statement may be `COMMIT`, `ROLLBACK` and the like, which users' statements may not.
    let isTransactionControl: Bool
    let startedAt: Nanoseconds
    let timeout: Nanoseconds
    private let usage: RequestUsage?

    private var continuation: UnsafeContinuation<Reply, any Error>?
    private(set) var isDone = false
    /// Cancelled before it arrived.
    var isCancelled = false
    /// Arrived in the engine.
    var isQueued = false
    /// Handed to libpq.
    var isSent = false
    /// Whose it is, if it is for any connection.
    var tenant: Tenant?
    /// A setting for the rest of the transaction, sent in front of the statement in its segment.
    var setting: String?
    /// How often it was sent again, after a stale statement or a cancellation meant for a neighbour.
    var retries = 0

    init(
        _ work: Work, _ query: PostgresQuery, timeout: Nanoseconds, lease: Lease? = nil, begin: PostgresTransactionStart? = nil,
        isTransactionControl: Bool = false
    ) {
        self.work = work
        self.query = query
        self.timeout = timeout
        self.lease = lease
        self.begin = begin
        self.isTransactionControl = isTransactionControl
        usage = RequestUsage.current
        startedAt = monotonicNow()
    }

    var deadline: Nanoseconds { startedAt + timeout }

    func attach(_ continuation: UnsafeContinuation<Reply, any Error>) {
        self.continuation = continuation
    }

    /// Resumes the waiting task, once. Further calls do nothing.
    func complete(_ result: Result<Reply, PostgresError>, now: Nanoseconds) {
        guard !isDone else { return }
        isDone = true
        usage?.record(nanoseconds: now - startedAt)
        guard let continuation else { return }
        self.continuation = nil
        switch result {
        case .success(let reply): continuation.resume(returning: reply)
        case .failure(let error): continuation.resume(throwing: error)
        }
    }
}

/// The exclusive use of one connection. It stays valid, and fails every statement, after the connection is lost.
final class Lease: Sendable {
    let connection: Int

    init(connection: Int) { self.connection = connection }
}

/// How a transaction begins.
struct PostgresTransactionStart: Sendable {
    let isolation: PostgresIsolation
    let isReadOnly: Bool
    let role: PostgresIdentifier?

    var sql: String { "BEGIN ISOLATION LEVEL \(isolation.sql) \(isReadOnly ? "READ ONLY" : "READ WRITE")" }
}
