import Synchronization

/// What the queries of one request cost.
///
///     let usage = PostgresUsage()
///     try await PostgresUsage.$current.withValue(usage) { … }
///     log(usage.queries, usage.databaseTimeInNanoseconds)
public final class PostgresUsage: Sendable {
    @TaskLocal public static var current: PostgresUsage?

    private let count = Atomic<Int>(0)
    private let nanoseconds = Atomic<Int>(0)

    public init() {}

    /// Statements answered, including refused ones.
    public var queries: Int { count.load(ordering: .relaxed) }

    /// The sum of the times from call to answer.
    public var databaseTimeInNanoseconds: Int { nanoseconds.load(ordering: .relaxed) }

    func record(nanoseconds duration: Int64) {
        count.wrappingAdd(1, ordering: .relaxed)
        nanoseconds.wrappingAdd(Int(duration), ordering: .relaxed)
    }
}
