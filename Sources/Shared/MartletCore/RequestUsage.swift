public import Synchronization

/// What one request has cost so far; the request line logs it, and whoever queries a database adds to it.
public final class RequestUsage: Sendable {
    /// The usage of the request that the current task works for.
    @TaskLocal public static var current: RequestUsage?

    /// Statements sent to a database.
    public let queries = Atomic<Int>(0)
    /// Time waited for the database, in nanoseconds.
    public let databaseNanoseconds = Atomic<Int>(0)

    public init() {}
}
