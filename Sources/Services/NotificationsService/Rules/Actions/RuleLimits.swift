import Foundation
import MartletPostgres

/// How often rules may act, counted by when things happened: what piled up during an outage is made up for, and what
/// feeds itself is held up as soon as it is too fast, however late it is looked at.
struct RuleLimits: Sendable {
    /// Of one rule, of one object: what goes round in a circle ends here, however many objects it goes over.
    static let actsOnObjectInMinute = 30
    static let actsOnObjectInHour = 600

    enum Verdict: Sendable {
        case within
        /// It may act, and its owner should look at it.
        case suspicious(String)
        case beyond(RuleWork.Outcome, String)
    }

    /// Counts an act, when there is room for it.
    func take(_ act: RuleAct, in space: Space, _ transaction: PostgresTransaction) async throws -> Verdict {
        if let object = act.object, try await isCircle(act, object, in: space, transaction) {
            return .beyond(
                .loop,
                "It acted on this object \(Self.actsOnObjectInMinute) times within a minute, or \(Self.actsOnObjectInHour) times within an hour."
            )
        }
        let (limit, name) = (act.rule.limit, act.rule.name)
        let seconds = Double(limit.seconds)
        let rows = try await transaction.query(
            """
            UPDATE notifications.rules AS r SET acted = acted + 1, last_acted = now(),
                window_count = CASE WHEN window_start < moment - make_interval(secs => \(seconds)) THEN 1 ELSE window_count + 1 END,
                window_start = CASE WHEN window_start < moment - make_interval(secs => \(seconds)) THEN moment ELSE window_start END,
                hour_count = CASE WHEN hour_start < moment - interval '1 hour' THEN 1 ELSE hour_count + 1 END,
                hour_start = CASE WHEN hour_start < moment - interval '1 hour' THEN moment ELSE hour_start END
            FROM (SELECT least(\(act.at)::timestamptz, now()) AS moment) AS happened
            WHERE space = \(space.id) AND name = \(name)
                AND (window_start < moment - make_interval(secs => \(seconds)) OR window_count < \(Int32(limit.count)))
            RETURNING hour_count
            """)
        guard let count = try rows.first?.decode(0, as: Int32.self) else {
            return .beyond(.limited, "It acted \(limit.count) times within \(limit.seconds) seconds.")
        }
        guard act.webhookBody != nil, Int(count) == Self.suspiciousActs(limit) else { return .within }
        return .suspicious(
            "It has acted \(count) times within an hour, a third of what its limit allows. If what its webhook does makes it act again, it feeds itself; it goes on."
        )
    }

    /// Within an hour, of a rule that tells a webhook: nothing else that it does can make it act again, on ever new
    /// objects too.
    static func suspiciousActs(_ limit: Rule.Limit) -> Int {
        max(limit.count + 1, limit.count * 3_600 / limit.seconds / 3)
    }

    private func isCircle(_ act: RuleAct, _ object: String, in space: Space, _ transaction: PostgresTransaction)
        async throws -> Bool
    {
        try await transaction.query(
            """
            INSERT INTO notifications.rule_objects AS o (space, rule, object, minute_start, minute_count, hour_start, hour_count)
            SELECT space, name, \(object), moment, 1, moment, 1
            FROM notifications.rules, (SELECT least(\(act.at)::timestamptz, now()) AS moment) AS happened WHERE space = \(space.id) AND name = \(act.rule.name)
            ON CONFLICT (space, rule, object) DO UPDATE SET touched = now(),
                minute_count = CASE WHEN o.minute_start < excluded.minute_start - interval '1 minute' THEN 1 ELSE o.minute_count + 1 END,
                minute_start = CASE WHEN o.minute_start < excluded.minute_start - interval '1 minute' THEN excluded.minute_start ELSE o.minute_start END,
                hour_count = CASE WHEN o.hour_start < excluded.hour_start - interval '1 hour' THEN 1 ELSE o.hour_count + 1 END,
                hour_start = CASE WHEN o.hour_start < excluded.hour_start - interval '1 hour' THEN excluded.hour_start ELSE o.hour_start END
            WHERE (o.minute_start < excluded.minute_start - interval '1 minute' OR o.minute_count < \(Int32(Self.actsOnObjectInMinute)))
                AND (o.hour_start < excluded.hour_start - interval '1 hour' OR o.hour_count < \(Int32(Self.actsOnObjectInHour)))
            RETURNING object
            """
        ).isEmpty
    }

    /// Forgets objects that no rule acted on for two hours.
    func prune(_ postgres: PostgresClient) async throws {
        try await postgres.execute("DELETE FROM notifications.rule_objects WHERE touched < now() - interval '2 hours'")
    }
}
