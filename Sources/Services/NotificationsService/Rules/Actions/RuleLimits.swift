import Foundation
import MartletPostgres

/// Limits how often rules act, counted by the time of the causes. So a backlog after an outage is processed in full,
/// but a rule that triggers itself too fast is stopped, even if its changes are processed late.
struct RuleLimits: Sendable {
    /// The limits per rule and object. They stop a loop, however many objects it involves.
    static let actionsPerObjectAndMinute = 30
    static let actionsPerObjectAndHour = 600

    enum Verdict: Sendable {
        case within
        /// The rule may act, but its owner should check it.
        case suspicious(String)
        case beyond(RuleActionPerformer.Outcome, String)
    }

    /// Counts an action if it is within the limits.
    func count(_ action: RuleAction, in space: Space, _ transaction: PostgresTransaction) async throws -> Verdict {
        if let object = action.object, try await isLoop(action, object, in: space, transaction) {
            return .beyond(
                .loop,
                """
                The rule acted on this object \(Self.actionsPerObjectAndMinute) times within a minute, or \
                \(Self.actionsPerObjectAndHour) times within an hour.
                """
            )
        }
        let (limit, name) = (action.rule.limit, action.rule.name)
        let seconds = Double(limit.seconds)
        let rows = try await transaction.query(
            """
            UPDATE notifications.rules AS r SET acted = acted + 1, last_acted = now(),
                window_count = CASE WHEN window_start < moment - make_interval(secs => \(seconds)) THEN 1 ELSE window_count + 1 END,
                window_start = CASE WHEN window_start < moment - make_interval(secs => \(seconds)) THEN moment ELSE window_start END,
                hour_count = CASE WHEN hour_start < moment - interval '1 hour' THEN 1 ELSE hour_count + 1 END,
                hour_start = CASE WHEN hour_start < moment - interval '1 hour' THEN moment ELSE hour_start END
            FROM (SELECT least(\(action.at)::timestamptz, now()) AS moment) AS happened
            WHERE space = \(space.id) AND name = \(name)
                AND (window_start < moment - make_interval(secs => \(seconds)) OR window_count < \(Int32(limit.count)))
            RETURNING hour_count
            """)
        guard let count = try rows.first?.decode(0, as: Int32.self) else {
            return .beyond(.limited, "The rule acted \(limit.count) times within \(limit.seconds) seconds.")
        }
        guard action.webhookBody != nil, Int(count) == Self.suspiciousActionCount(limit) else { return .within }
        return .suspicious(
            """
            The rule has acted \(count) times within an hour, a third of what its limit allows. If its webhook causes \
            changes that trigger the rule again, the rule may be in a loop. The rule keeps acting.
            """
        )
    }

    /// The number of actions per hour at which a rule with a webhook is suspicious. Only a webhook can make a rule
    /// trigger itself on ever new objects.
    static func suspiciousActionCount(_ limit: Rule.Limit) -> Int {
        max(limit.count + 1, limit.count * 3_600 / limit.seconds / 3)
    }

    private func isLoop(_ action: RuleAction, _ object: String, in space: Space, _ transaction: PostgresTransaction)
        async throws -> Bool
    {
        try await transaction.query(
            """
            INSERT INTO notifications.rule_objects AS o (space, rule, object, minute_start, minute_count, hour_start, hour_count)
            SELECT space, name, \(object), moment, 1, moment, 1
            FROM notifications.rules, (SELECT least(\(action.at)::timestamptz, now()) AS moment) AS happened
            WHERE space = \(space.id) AND name = \(action.rule.name)
            ON CONFLICT (space, rule, object) DO UPDATE SET touched = now(),
                minute_count = CASE WHEN o.minute_start < excluded.minute_start - interval '1 minute' THEN 1 ELSE o.minute_count + 1 END,
                minute_start = CASE WHEN o.minute_start < excluded.minute_start - interval '1 minute' THEN excluded.minute_start ELSE o.minute_start END,
                hour_count = CASE WHEN o.hour_start < excluded.hour_start - interval '1 hour' THEN 1 ELSE o.hour_count + 1 END,
                hour_start = CASE WHEN o.hour_start < excluded.hour_start - interval '1 hour' THEN excluded.hour_start ELSE o.hour_start END
            WHERE (o.minute_start < excluded.minute_start - interval '1 minute'
                    OR o.minute_count < \(Int32(Self.actionsPerObjectAndMinute)))
                AND (o.hour_start < excluded.hour_start - interval '1 hour' OR o.hour_count < \(Int32(Self.actionsPerObjectAndHour)))
            RETURNING object
            """
        ).isEmpty
    }

    /// Deletes the counters of objects that no rule acted on for two hours.
    func prune(_ postgres: PostgresClient) async throws {
        try await postgres.execute("DELETE FROM notifications.rule_objects WHERE touched < now() - interval '2 hours'")
    }
}
