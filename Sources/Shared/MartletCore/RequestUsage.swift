import Synchronization

/// The database cost of a request so far. Database clients add to it, and the request log line reports it.
///
///     let usage = RequestUsage()
///     try await RequestUsage.$current.withValue(usage) { … }
public final class RequestUsage: Sendable {
    /// The usage of the request that the current task belongs to.
    @TaskLocal public static var current: RequestUsage?

    private let count = Atomic<Int>(0)
    private let nanoseconds = Atomic<Int>(0)

    public init() {}

    /// Number of statements answered, including refused ones.
    public var queries: Int { count.load(ordering: .relaxed) }

    /// Sum of the times from call to answer.
    public var databaseTimeInNanoseconds: Int { nanoseconds.load(ordering: .relaxed) }

    public func record(nanoseconds duration: Int64) {
        count.wrappingAdd(1, ordering: .relaxed)
        nanoseconds.wrappingAdd(Int(duration), ordering: .relaxed)
    }
}
