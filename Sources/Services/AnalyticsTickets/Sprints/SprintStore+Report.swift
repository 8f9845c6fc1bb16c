import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

extension SprintStore {
    /// - Throws: `sprint-not-found`; `conflict` if the sprint has not been started; `limit-exceeded` if it has too many
    ///   tickets or changes for a report.
    func report(_ number: Int, in space: Space) async throws -> SprintReport {
        let rows = try await tickets.postgres.query(
            "SELECT started, closed FROM analytics.ticket_sprints WHERE space = \(space.id) AND number = \(number)")
        guard let row = rows.first else { throw ServiceError(.sprintNotFound) }
        guard let started: Date = try row.decode(0) else {
            throw ServiceError(.conflict, "This sprint has not been started yet.")
        }
        return SprintReport(
            SprintLog(sprint: number, tickets: try await log(number, in: space)), from: started,
            to: try row.decode(1) ?? now())
    }

    /// All tickets that are or were in the sprint, with the changes that the report counts.
    private func log(_ number: Int, in space: Space) async throws -> [SprintLog.Ticket] {
        var (found, indexOf) = ([SprintLog.Ticket](), [Int64: Int]())
        let rows = try await tickets.postgres.query(
            """
            SELECT t.id, t.created, t.status, t.sprint, t.estimate FROM analytics.tickets AS t
            WHERE t.space = \(space.id) AND (t.sprint = \(number) OR t.id IN (
                SELECT h.ticket FROM analytics.ticket_history AS h JOIN analytics.tickets AS o ON o.id = h.ticket
                WHERE o.space = \(space.id) AND h.field = 'sprint' AND (h.before = to_jsonb(\(number)) OR h.after = to_jsonb(\(number)))))
            ORDER BY t.id LIMIT \(SprintReport.maximumTickets + 1)
            """)
        guard rows.count <= SprintReport.maximumTickets else {
            throw ServiceError(
                .limitExceeded, "Reports are limited to sprints of at most \(SprintReport.maximumTickets) tickets.")
        }
        for row in rows {
            indexOf[try row.decode(0)] = found.count
            found.append(
                SprintLog.Ticket(
                    created: try row.decode(1), status: try row.decode(2), sprint: try row.decode(3),
                    estimate: try row.decode(4)))
        }
        let changes = try await tickets.postgres.query(
            """
            SELECT h.ticket, h.at, h.act, coalesce(h.field, ''), h.before #>> '{}' FROM analytics.ticket_history AS h
            WHERE h.ticket = ANY (\(indexOf.keys.map { Int($0) }))
                AND (h.field IN ('status', 'sprint', 'estimate') OR h.act IN ('deleted', 'restored'))
            ORDER BY h.id LIMIT \(SprintReport.maximumChanges + 1)
            """)
        guard changes.count <= SprintReport.maximumChanges else {
            throw ServiceError(
                .limitExceeded, "Reports are limited to sprints of at most \(SprintReport.maximumChanges) changes.")
        }
        for row in changes {
            guard let index = indexOf[try row.decode(0)], let change = try Self.change(row) else { continue }
            found[index].changes.append(change)
        }
        return found
    }

    private static func change(_ row: PostgresRow) throws -> SprintLog.Change? {
        let before: String? = try row.decode(4)
        let kind: SprintLog.Change.Kind? =
            switch (try row.decode(2, as: String.self), try row.decode(3, as: String.self)) {
            case (TicketActivity.deleted.rawValue, _): .bin(isIn: true)
            case (TicketActivity.restored.rawValue, _): .bin(isIn: false)
            case (_, "status"): before.map { .status(before: $0) }
            case (_, "sprint"): .sprint(before: before.flatMap { Int($0) })
            case (_, "estimate"): .estimate(before: before.flatMap { Int($0) })
            default: nil
            }
        let at: Date = try row.decode(1)
        return kind.map { SprintLog.Change(at: at, kind: $0) }
    }
}
