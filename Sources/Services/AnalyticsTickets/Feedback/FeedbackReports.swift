package import Foundation
package import MartletPostgres

extension FeedbackIntake {
    /// Attaches issues to the tickets of feedback that arrived before its crash report. Runs in the transaction that
    /// stores the reports.
    ///
    /// A ticket that already has the maximum number of issues is left alone, so that it does not hold up the reports.
    package func attachIssues(ofReports events: [UUID], in space: Space, _ transaction: PostgresTransaction)
        async throws
    {
        let missing = try await transaction.query(
            """
            SELECT DISTINCT f.ticket, i.number FROM analytics.ticket_feedback AS f
            JOIN analytics.crash_events AS e ON e.space = f.space AND e.event_id = f.event_id
            JOIN analytics.issues AS i ON i.id = e.issue AND i.deleted IS NULL
            WHERE f.space = \(space.id) AND f.event_id = ANY (\(events))
                AND NOT EXISTS (SELECT FROM analytics.ticket_issues AS a WHERE a.ticket = f.ticket AND a.issue = i.id)
                AND (SELECT count(*) FROM analytics.ticket_issues AS a WHERE a.ticket = f.ticket) < \(TicketLimits.issuesOfTicket)
            """
        ).map { (ticket: try $0.decode(0, as: Int64.self), issue: try $0.decode(1, as: Int.self)) }
        // No lock is needed for the many reports without feedback.
        guard !missing.isEmpty else { return }
        let work = try await attachments.tickets.begin(in: space, by: Self.author, transaction)
        for (ticket, issue) in missing {
            try await work.attach(issues: [issue], to: ticket)
            try await work.touch(ticket)
        }
    }
}

extension TicketWork {
    /// The issue that a crash report belongs to, and the version it came from; nil if the report has not arrived yet.
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
