import Foundation
import MartletCore
import MartletPostgres
import MartletPush

/// Counts the devices of an audience.
struct AudienceCounter: Sendable {
    /// The maximum number of installations examined, unless an exact count is requested.
    static let maximumExamined = 100_000
    private static let timeLimit: Duration = .seconds(40)

    struct Count: Sendable, Equatable {
        var count: Int
        /// False if `count` is a lower bound.
        var isExact: Bool

        var json: JSONValue { .object([.init("count", .number("\(count)")), .init("isExact", .bool(isExact))]) }
    }

    let postgres: PostgresClient
    let now: @Sendable () -> Date

    /// - Parameters:
    ///   - services: Counts only devices of these push services; nil counts those of all services that the content is
    ///     for.
    ///   - isExact: Examines all installations, for at most 40 seconds, instead of stopping at 100,000.
    func count(
        _ audiences: [Audience], content: MessageContent = MessageContent(), services: Set<PushService>? = nil,
        isExact: Bool, in space: Space
    ) async throws -> Count {
        let criteria = try AudienceCriteria(audiences, content: content, services: services, at: now())
        let maximum = isExact ? Int.max : Self.maximumExamined
        if criteria.isPlain {
            let limit: PostgresQuery = isExact ? "" : "LIMIT \(maximum + 1)"
            let rows = try await postgres.query(
                """
                SELECT count(*) FROM (
                    SELECT FROM notifications.installations AS i WHERE i.space = \(space.id) \(criteria.filter) \(limit)) AS found
                """, timeout: Self.timeLimit)
            let count = try rows[0].decode(0, as: Int.self)
            return Count(count: min(count, maximum), isExact: count <= maximum)
        }
        return try await countByPages(criteria, maximum, in: space)
    }

    private func countByPages(_ criteria: AudienceCriteria, _ maximum: Int, in space: Space) async throws -> Count {
        let end = ContinuousClock.now + Self.timeLimit
        let limit = criteria.readsAttributes ? MessagePlanner.pageSizeWithAttributes : MessagePlanner.pageSize
        var count = 0, examined = 0
        var lastID: UUID?
        while examined < maximum, .now < end {
            let after: PostgresQuery = lastID.map { "AND i.id > \($0)" } ?? ""
            let page = try await postgres.query(
                """
                SELECT \(criteria.columns) FROM notifications.installations AS i WHERE i.space = \(space.id) \(criteria.filter) \(after)
                ORDER BY i.id LIMIT \(limit)
                """, timeout: Self.timeLimit)
            count += try page.count { try criteria.candidate($0) != nil }
            examined += page.count
            guard page.count == limit, let last = page.last else { return Count(count: count, isExact: true) }
            lastID = try last.decode(0, as: UUID.self)
        }
        return Count(count: count, isExact: false)
    }
}
