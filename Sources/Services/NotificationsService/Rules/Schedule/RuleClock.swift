import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Triggers rules on schedules, once per due time however many instances run.
///
/// Runs missed during an outage are made up for by a single one.
struct RuleClock: Service {
    /// The longest pause between two checks. Changes of rules are notified separately.
    private static let interval: Duration = .seconds(60)
    private static let maximumRulesPerCheck = 50
    private static let retrySeconds = 10.0

    let postgres: PostgresClient
    let spaces: Spaces
    let storage: StorageClient
    let actionBuilder: RuleActionBuilder
    let performer: RuleActionPerformer
    let changeSignal: RuleChangeSignal
    let logger: Logger
    let now: @Sendable () -> Date

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var known = 0
            var tracker = FailureTracker()
            while !Task.isCancelled {
                var pause = Self.interval
                do {
                    try await runDueRules(at: now())
                    pause = min(pause, try await timeUntilNext())
                    tracker.reset()
                } catch {
                    if !Task.isCancelled, tracker.recordFailure() {
                        logger.warning(
                            "Could not read the rules that are due; retrying.", metadata: ["error.cause": "\(error)"])
                    }
                    pause = tracker.pause
                }
                known = await changeSignal.wait(pause, known: known)
            }
        }
    }

    private func timeUntilNext() async throws -> Duration {
        let rows = try await postgres.query(
            "SELECT min(greatest(due, retry)) FROM notifications.rules WHERE is_enabled AND due IS NOT NULL")
        // The jitter lets instances take turns, and keeps each from checking more than ten times a second.
        guard let next = try rows[0].decode(0, as: Date?.self) else { return Self.interval }
        return .seconds(max(0, next.timeIntervalSince(now())) + Double.random(in: 0.1...0.3))
    }

    /// Triggers all rules that are due.
    func runDueRules(at time: Date) async throws {
        let rows = try await postgres.query(
            """
            SELECT space, name, rule, due, stuck_since IS NULL FROM notifications.rules
            WHERE is_enabled AND due <= \(time) AND (retry IS NULL OR retry <= \(time)) ORDER BY due LIMIT \(Self.maximumRulesPerCheck)
            """)
        for row in rows {
            guard let space = try await spaces.space(try row.decode(0)) else { continue }
            let (name, due): (String, Date) = (try row.decode(1), try row.decode(3))
            do {
                try await run(name, try row.json(2), due: due, at: time, in: space)
            } catch {
                guard !Task.isCancelled else { return }
                if try row.decode(4, as: Bool.self) {
                    logger.warning(
                        "A rule could not act when it was due; retrying.",
                        metadata: ["rule.name": "\(name)", "error.cause": "\(error)"])
                }
                try await postgres.execute(
                    """
                    UPDATE notifications.rules SET stuck_since = coalesce(stuck_since, now()),
                        stuck_reason = \(FailureTracker.sentence(error)),
                        retry = now() + make_interval(secs => \(Self.retrySeconds))
                    WHERE space = \(space.id) AND name = \(name) AND due = \(due)
                    """)
            }
        }
    }

    private func run(_ name: String, _ json: JSONValue, due: Date, at time: Date, in space: Space) async throws {
        // Throws for a rule that this version cannot read, for example because of a time zone no longer accepted. The
        // rule is then marked as stuck, so that its schedule does not end unnoticed.
        let rule = try Rule(name: name, json)
        let next: Date? = if case .schedule(let schedule) = rule.trigger { schedule.next(after: time) } else { nil }
        let wanted = try await action(rule, due: due, in: space)
        try await postgres.withTransaction { transaction in
            let taken = try await transaction.execute(
                """
                UPDATE notifications.rules SET due = \(next), stuck_since = NULL, stuck_reason = NULL, retry = NULL
                WHERE space = \(space.id) AND name = \(name) AND due = \(due) AND is_enabled
                """)
            guard taken == 1, let wanted else { return }
            try await performer.perform(wanted, in: space, transaction)
        }
    }

    private func action(_ rule: Rule, due: Date, in space: Space) async throws -> RuleAction? {
        let at = due.formatted(.iso8601)
        return try await actionBuilder.action(
            rule, on: Facts([.init("at", .string(at))]), cause: "tick:\(at)", at: due,
            RecipientLookUp(storage: storage, space: space), in: space)
    }
}
