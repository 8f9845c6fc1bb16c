import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// Has rules on schedules act when it is time: once each time, however many copies look.
///
/// What was missed while nobody looked is made up for once.
struct RuleClock: Service {
    private static let interval: Duration = .seconds(1)
    private static let rulesAtOnce = 50

    let postgres: PostgresClient
    let spaces: Spaces
    let stored: StoredChanges
    let acts: RuleActs
    let work: RuleWork
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await look(at: Date())
                } catch {
                    if !Task.isCancelled { logger.warning("schedules were not looked at", metadata: ["error.cause": "\(error)"]) }
                }
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.8...1.2))
            }
        }
    }

    /// Has those act whose time has come.
    func look(at time: Date) async throws {
        let rows = try await postgres.query(
            """
            SELECT space, name, rule, due FROM notifications.rules WHERE is_enabled AND due <= \(time) ORDER BY due LIMIT \(Self.rulesAtOnce)
            """)
        for row in rows {
            guard let space = try await spaces.space(try row.decode(0)) else { continue }
            let (name, due): (String, Date) = (try row.decode(1), try row.decode(3))
            do {
                try await act(name, try row.json(2), due: due, at: time, in: space)
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning("a rule did not act in time", metadata: ["rule.name": "\(name)", "error.cause": "\(error)"])
            }
        }
    }

    private func act(_ name: String, _ json: JSONValue, due: Date, at time: Date, in space: Space) async throws {
        let rule = try? Rule(name: name, json)
        let next: Date? = if case .schedule(let schedule) = rule?.trigger { schedule.next(after: time) } else { nil }
        let wanted: RuleAct? = if let rule { try await act(rule, due: due, in: space) } else { nil }
        try await postgres.withTransaction { transaction in
            let taken = try await transaction.execute(
                "UPDATE notifications.rules SET due = \(next) WHERE space = \(space.id) AND name = \(name) AND due = \(due) AND is_enabled")
            guard taken == 1, let wanted else { return }
            try await work.perform(wanted, in: space, transaction)
        }
    }

    private func act(_ rule: Rule, due: Date, in space: Space) async throws -> RuleAct? {
        let at = due.formatted(.iso8601)
        return try await acts.act(
            rule, on: Facts([.init("at", .string(at))]), cause: "tick:\(at)", RecipientLookUp(stored: stored, space: space), in: space)
    }
}
