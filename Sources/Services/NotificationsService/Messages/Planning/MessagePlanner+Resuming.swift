import Foundation
import MartletPostgres

extension MessageTiming {
    /// Whether a pause can invalidate delivery times that were already computed.
    var dependsOnNow: Bool { quietHours != nil || cap != nil }
}

extension MessagePlanner {
    /// Recomputes the delivery times of a resumed message, one page per transaction; the transaction must have locked
    /// the message. Overdue deliveries again wait for the end of quiet hours. Those to devices that have reached the
    /// cap meanwhile are cancelled (`capped`).
    ///
    /// - Parameter installation: The page starts after it; nil starts at the beginning.
    /// - Returns: The last installation of the page; nil if this was the last page.
    func resumePage(of message: Message, after installation: UUID?, _ transaction: PostgresTransaction) async throws
        -> UUID?
    {
        let place: PostgresQuery = installation.map { "AND d.installation > \($0)" } ?? ""
        let page = try await transaction.query(
            """
            SELECT d.installation, coalesce(d.service, i.service, ''), i.time_zone FROM notifications.deliveries AS d
            LEFT JOIN notifications.installations AS i ON i.space = d.space AND i.id = d.installation
            WHERE d.message = \(message.id) AND d.state = 'queued' \(place) ORDER BY d.installation LIMIT \(Self.pageSize) FOR NO KEY UPDATE OF d
            """, timeout: .seconds(60)
        ).map { Candidate(installation: try $0.decode(0), timeZone: try $0.decode(2), service: try $0.decode(1)) }
        let kept = try await belowCap(page, message, transaction)
        try await setTimes(of: kept, message, transaction)
        try await drop(Set(page.map(\.installation)).subtracting(kept.map(\.installation)), of: message, transaction)
        return page.count < Self.pageSize ? nil : page.last?.installation
    }

    private func setTimes(of kept: [Candidate], _ message: Message, _ transaction: PostgresTransaction) async throws {
        guard !kept.isEmpty else { return }
        var clock = DeviceClock(due: max(message.due, now()), timing: message.timing)
        let moments = kept.map { Int(clock.due(in: $0.timeZone).timeIntervalSince1970) }
        try await transaction.execute(
            """
            UPDATE notifications.deliveries AS d SET updated = now(), due = CASE WHEN d.due <= now() THEN to_timestamp(k.due) ELSE d.due END
            FROM unnest(\(kept.map(\.installation)), \(moments)) AS k (installation, due)
            WHERE d.message = \(message.id) AND d.installation = k.installation AND d.state = 'queued'
            """, timeout: .seconds(60))
    }

    private func drop(_ installations: Set<UUID>, of message: Message, _ transaction: PostgresTransaction) async throws
    {
        guard !installations.isEmpty else { return }
        _ = try await transaction.query(
            """
            WITH dropped AS (
                UPDATE notifications.deliveries AS d SET state = 'cancelled', reason = 'capped', updated = now()
                WHERE d.message = \(message.id) AND d.installation = ANY (\(Array(installations))) AND d.state = 'queued'
                RETURNING d.message, d.variant, d.state),
            counted AS (\(DeliveryQueue.counting("dropped")))
            SELECT count(*) FROM dropped
            """, timeout: .seconds(60))
    }
}
