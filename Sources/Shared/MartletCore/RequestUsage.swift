import Synchronization

/// What one request has cost its databases so far; whoever queries one adds to it, and the request line logs it.
///
///     let usage = RequestUsage()
///     try await RequestUsage.$current.withValue(usage) { … }
public final class RequestUsage: Sendable {
    /// The usage of the request that the current task works for.
    @TaskLocal public static var current: RequestUsage?

    private let count = Atomic<Int>(0)
    private let nanoseconds = Atomic<Int>(0)

    public init() {}

    /// Statements answered, including refused ones.
    public var queries: Int { count.load(ordering: .relaxed) }

    /// The sum of the times from call to answer.
    public var databaseTimeInNanoseconds: Int { nanoseconds.load(ordering: .relaxed) }

    public func record(nanoseconds duration: Int64) {
        count.wrappingAdd(1, ordering: .relaxed)
        nanoseconds.wrappingAdd(Int(duration), ordering: .relaxed)
    }
}
