import Foundation
import MartletPostgres

extension FeedbackIntake {
    /// Attaches the issues of crash reports to the tickets of feedback that came before them, in the transaction that
    /// stores the reports.
    ///
    /// A ticket that has as many issues as it may keeps those: nothing is to hold reports up.
    func join(_ events: [UUID], in space: Space, _ transaction: PostgresTransaction) async throws {
        let missing = try await transaction.query(
            """
            SELECT DISTINCT f.ticket, i.number FROM analytics.ticket_feedback AS f
            JOIN analytics.crash_events AS e ON e.space = f.space AND e.event_id = f.event_id
            JOIN analytics.issues AS i ON i.id = e.issue AND i.deleted IS NULL
            WHERE f.space = \(space.id) AND f.event_id = ANY (\(events))
                AND NOT EXISTS (SELECT FROM analytics.ticket_issues AS a WHERE a.ticket = f.ticket AND a.issue = i.id)
                AND (SELECT count(*) FROM analytics.ticket_issues AS a WHERE a.ticket = f.ticket) < \(TicketLimits.issues)
            """
        ).map { (ticket: try $0.decode(0, as: Int64.self), issue: try $0.decode(1, as: Int.self)) }
        // Nothing is locked for the many reports that nobody said anything of.
        guard !missing.isEmpty else { return }
        let work = try await attachments.tickets.begin(in: space, by: Self.author, transaction)
        for (ticket, issue) in missing {
            try await work.attach(issues: [issue], to: ticket)
            try await work.touch(ticket)
        }
    }
}

extension TicketWork {
    /// The number of the issue that a crash report was counted to, and the version it came from; nil where it has not
    /// come yet.
    func report(_ event: UUID) async throws -> (issue: Int, appVersion: String?)? {
        try await transaction.query(
            """
            SELECT i.number, nullif(left(r.version, 64), '') FROM analytics.crash_events AS e JOIN analytics.issues AS i ON i.id = e.issue
            LEFT JOIN analytics.releases AS r ON r.id = e.release
            WHERE e.space = \(space.id) AND e.event_id = \(event) AND i.deleted IS NULL
            """
        ).first.map { (try $0.decode(0), try $0.decode(1)) }
    }
}
