import Foundation
import MartletCore
import MartletFlags
import MartletPostgres
import MartletPush

/// Finds the installations of an audience: a filter that PostgreSQL evaluates, and conditions that are checked for each
/// row.
struct AudienceCriteria: Sendable {
    /// Follows `WHERE i.space = …`.
    let filter: PostgresQuery
    private let conditions: [AudienceCondition]
    private let time: Date

    /// - Parameters:
    ///   - audiences: The audiences, all of which must match.
    ///   - services: Includes only devices of these push services; nil includes those of all services that the content
    ///     is for.
    ///   - time: The value of `now` in conditions.
    /// - Throws: `ServiceError` for an invalid condition.
    init(_ audiences: [Audience], content: MessageContent, services: Set<PushService>? = nil, at time: Date) throws {
        self.time = time
        let services = content.services.intersection(services ?? content.services).map(\.rawValue).sorted()
        let isActivity = content.effectivePushType == .liveActivity
        let reachable: PostgresQuery =
            "AND i.token IS NOT NULL AND i.service = ANY (\(services)) AND (i.attributes ? 'liveActivity') = \(isActivity)"
        filter = audiences.reduce(reachable) { "\($0) \($1.filter)" }
        conditions = try audiences.compactMap(\.condition).map { try AudienceCondition($0) }
    }

    var readsAttributes: Bool { conditions.contains(where: \.readsAttributes) }

    /// Whether PostgreSQL alone can evaluate the audience.
    var isPlain: Bool { conditions.isEmpty }

    /// The columns that `candidate(_:)` reads.
    var columns: PostgresQuery {
        isPlain ? "i.id, i.time_zone, i.service" : "i.id, i.time_zone, i.service, \(InstallationFacts.columns)"
    }

    /// Nil if the installation does not match.
    func candidate(_ row: PostgresRow) throws -> Candidate? {
        let candidate = Candidate(
            installation: try row.decode(0), timeZone: try row.decode(1), service: try row.decode(2))
        guard !isPlain else { return candidate }
        let facts = try InstallationFacts.read(
            row, id: candidate.installation, from: 3, at: time, withAttributes: readsAttributes)
        return conditions.allSatisfy { $0.matches(facts) } ? candidate : nil
    }
}

extension Audience {
    /// The criteria that can use an index.
    fileprivate var filter: PostgresQuery {
        var filter = PostgresQuery()
        if let installations { filter.append("AND i.id = ANY (\(installations)) ") }
        if let users { filter.append("AND i.user_id = ANY (\(users)) ") }
        if let channels { filter.append("AND i.channels && \(channels) ") }
        if let platforms { filter.append("AND i.platform = ANY (\(platforms.map(\.rawValue))) ") }
        if !exceptUsers.isEmpty { filter.append("AND (i.user_id IS NULL OR i.user_id <> ALL (\(exceptUsers))) ") }
        return filter
    }
}
