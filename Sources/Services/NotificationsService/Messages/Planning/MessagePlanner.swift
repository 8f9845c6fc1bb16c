import Foundation
import MartletCore
import MartletFlags
import MartletPostgres

/// Turns a message's audience into deliveries, one page of installations per transaction.
///
/// The transaction locks the message and writes the page together with its end position. However often planning is
/// interrupted and continued, no device gets a second delivery, and none that exists throughout is missed. Only one
/// page is held in memory.
struct MessagePlanner: Sendable {
    /// The number of installations examined in one transaction.
    static let pageSize = 5_000
    /// The page size when the app's own attributes are read, which may be large.
    static let pageSizeWithAttributes = 1_000

    let now: @Sendable () -> Date

    /// Plans the next page of a message that the transaction has locked or created. Returns whether it was the last
    /// page.
    ///
    /// - Throws: `ServiceError` for an audience that is no longer valid.
    func planPage(of message: Message, _ transaction: PostgresTransaction) async throws -> Bool {
        let criteria = try AudienceCriteria(
            [message.audience, message.segment].compactMap(\.self), content: message.content, at: now())
        let limit = criteria.readsAttributes ? Self.pageSizeWithAttributes : Self.pageSize
        let page = try await transaction.query(
            """
            SELECT \(criteria.columns) FROM notifications.installations AS i
            WHERE i.space = \(message.space) \(criteria.filter) \(after(message.plannedTo)) ORDER BY i.id LIMIT \(limit)
            """, timeout: .seconds(60))
        let found = try await belowCap(try page.compactMap { try criteria.candidate($0) }, message, transaction)
        try await queue(found, message, transaction)
        let isLast = page.count < limit
        try await transaction.execute(
            """
            UPDATE notifications.messages SET planned_to = COALESCE(\(try page.last?.decode(0, as: UUID.self)), planned_to),
                planned = planned + \(found.count), is_planned = \(isLast),
                state = CASE WHEN NOT \(isLast) THEN 'planning' WHEN planned + \(found.count) = 0 THEN 'sent' ELSE 'sending' END,
                finished = CASE WHEN \(isLast) AND planned + \(found.count) = 0 THEN now() END
            WHERE id = \(message.id)
            """)
        if isLast || !found.isEmpty { _ = try await transaction.query("SELECT pg_notify(\(MessageStore.channel), '')") }
        return isLast
    }

    private func after(_ installation: UUID?) -> PostgresQuery { installation.map { "AND i.id > \($0)" } ?? "" }

    /// The devices that have not reached the message's cap. The lock serializes messages with a cap, so that each
    /// counts the deliveries planned by the others.
    func belowCap(_ candidates: [Candidate], _ message: Message, _ transaction: PostgresTransaction) async throws
        -> [Candidate]
    {
        guard let cap = message.timing.cap, !candidates.isEmpty else { return candidates }
        _ = try await transaction.query("SELECT pg_advisory_xact_lock(hashtext('notifications.cap'), \(message.space))")
        let rows = try await transaction.query(
            """
            SELECT d.installation FROM notifications.deliveries AS d
            JOIN unnest(\(candidates.map(\.installation))) AS c (installation) ON c.installation = d.installation
            WHERE d.space = \(message.space) AND d.message <> \(message.id) AND d.state IN ('queued', 'sending', 'accepted', 'unknown')
                AND d.updated > now() - make_interval(secs => \(Double(cap.seconds)))
            GROUP BY d.installation HAVING count(*) >= \(cap.count)
            """, timeout: .seconds(60))
        let full = Set(try rows.map { try $0.decode(0, as: UUID.self) })
        return candidates.filter { !full.contains($0.installation) }
    }

    private func queue(_ found: [Candidate], _ message: Message, _ transaction: PostgresTransaction) async throws {
        guard !found.isEmpty else { return }
        let split = VariantSplit(message.content.variants, message: message.id)
        var clock = DeviceClock(due: max(message.due, now()), timing: message.timing)
        let moments = found.map { Int(clock.due(in: $0.timeZone).timeIntervalSince1970) }
        try await transaction.execute(
            """
            INSERT INTO notifications.deliveries (message, installation, space, service, variant, due)
            SELECT \(message.id), p.installation, \(message.space), p.service, p.variant::smallint, to_timestamp(p.due)
            FROM unnest(\(found.map(\.installation)), \(found.map(\.service)), \(found.map { split.variant(of: $0.installation) }), \(moments))
                AS p (installation, service, variant, due)
            ON CONFLICT DO NOTHING
            """, timeout: .seconds(60))
    }
}

/// An installation for which a delivery is planned.
struct Candidate: Sendable {
    var installation: UUID
    var timeZone: String?
    /// The push service of the installation.
    var service: String
}

/// Assigns variants to installations by a hash of message and installation, so that the assignment is stable.
struct VariantSplit: Sendable {
    private let ranges: [BucketRange]
    private let seed: String

    init(_ variants: [MessageVariant], message: UUID) {
        let sum = Double(variants.reduce(0) { $0 + $1.weight })
        ranges = Bucketing.ranges(variants.count, weights: variants.map { Double($0.weight) / sum })
        seed = message.uuidString.lowercased()
    }

    func variant(of installation: UUID) -> Int {
        guard ranges.count > 1 else { return 0 }
        let bucket = FlagHash.version2.bucket(of: installation.uuidString.lowercased(), seed: seed)
        return Bucketing.variation(at: bucket, in: ranges) ?? ranges.count - 1
    }
}
