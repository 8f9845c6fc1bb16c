import Foundation
import MartletCore
import MartletFlags
import MartletPostgres

/// Turns a message's audience into deliveries, a page of installations in a transaction.
///
/// A page and the place that it ends at are written together, with the message locked: whoever goes on, however often,
/// gives no device a second delivery and forgets none that was there all the time. Memory holds one page.
struct MessagePlanner: Sendable {
    /// Installations looked at in one transaction.
    static let pageSize = 5_000
    /// The same where the app's own attributes are looked at, which may be large.
    static let pageSizeWithAttributes = 1_000

    /// Plans the next page of a message, which the transaction has locked or made; true: it was the last one.
    ///
    /// - Throws: `HTTPProblem` for an audience that is not understood any more.
    func planPage(of message: Message, _ transaction: PostgresTransaction) async throws -> Bool {
        let criteria = try AudienceCriteria(
            [message.audience, message.segment].compactMap(\.self), content: message.content)
        let limit = criteria.looksAtAttributes ? Self.pageSizeWithAttributes : Self.pageSize
        let page = try await transaction.query(
            """
            SELECT \(criteria.columns) FROM notifications.installations AS i
            WHERE i.space = \(message.space) \(criteria.filter) \(after(message.plannedTo)) ORDER BY i.id LIMIT \(limit)
            """, timeout: .seconds(60))
        let found = try await capped(try page.compactMap { try criteria.candidate($0) }, message, transaction)
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

    /// Without those that have had as many pushes as the message's cap allows. Messages with a cap wait for each other,
    /// so that each counts what the others have planned.
    func capped(_ candidates: [Candidate], _ message: Message, _ transaction: PostgresTransaction) async throws
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
        var clock = DeviceClock(due: max(message.due, Date()), timing: message.timing)
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

/// An installation that gets a message, as far as the plan looks at it.
struct Candidate: Sendable {
    var installation: UUID
    var timeZone: String?
    /// By which push service it is reached.
    var service: String
}

/// Which of a message's texts an installation gets: by a hash of both, so that it is the same whenever it is asked.
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
