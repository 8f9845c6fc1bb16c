import MartletAPI
import MartletCore
import MartletHTTP
package import MartletPostgres

extension TicketStore {
    /// Attaches crash issues by number. Idempotent: issues that are already attached stay.
    ///
    /// - Throws: `ticket-not-found`, `limit-exceeded`; `invalid-body` if an issue does not exist.
    func attach(issues: [Int], to number: Int, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            try await work.attach(issues: issues, to: id)
            try await work.touch(id)
        }
    }

    /// - Throws: `ticket-not-found`; `not-found` if the ticket does not have the issue.
    func detach(issue: Int, from number: Int, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            let removed = try await work.transaction.execute(
                """
                DELETE FROM analytics.ticket_issues AS a USING analytics.issues AS i
                WHERE a.ticket = \(id) AND i.id = a.issue AND i.space = \(space.id) AND i.number = \(issue)
                """)
            guard removed > 0 else { throw ServiceError(.notFound, "The ticket does not have this issue.") }
            try await work.record(.issueDetached, of: id, before: .number(String(issue)))
            try await work.touch(id)
        }
    }

    /// Moves the tickets of an issue to another one, when the two issues are merged.
    package static func moveIssue(from old: Int64, to new: Int64, _ transaction: PostgresTransaction) async throws {
        try await recordMove(from: old, to: new, transaction)
        try await transaction.execute(
            """
            INSERT INTO analytics.ticket_issues (ticket, issue, author, added)
            SELECT ticket, \(new), author, added FROM analytics.ticket_issues WHERE issue = \(old) ON CONFLICT DO NOTHING
            """)
        try await transaction.execute("DELETE FROM analytics.ticket_issues WHERE issue = \(old)")
    }

    /// Removes an issue from its tickets, because the issue is about to be deleted.
    package static func dropIssue(_ issue: Int64, _ transaction: PostgresTransaction) async throws {
        try await recordMove(from: issue, to: nil, transaction)
        try await transaction.execute("DELETE FROM analytics.ticket_issues WHERE issue = \(issue)")
    }

    /// Records in the histories of an issue's tickets that the issue is detached or replaced. Notifies followers.
    private static func recordMove(from old: Int64, to new: Int64?, _ transaction: PostgresTransaction) async throws {
        let row = try await transaction.query(
            """
            UPDATE analytics.ticket_spaces AS s SET generation = generation + 1
            WHERE space = (SELECT space FROM analytics.issues WHERE id = \(old)) AND EXISTS (SELECT FROM analytics.ticket_issues WHERE issue = \(old))
            RETURNING s.generation, pg_notify(\(channel), s.space::text)
            """
        ).first
        guard let generation: Int64 = try row?.decode(0) else { return }
        try await transaction.execute(
            """
            WITH changed AS (
                UPDATE analytics.tickets SET generation = \(generation), updated = clock_timestamp()
                WHERE id IN (SELECT ticket FROM analytics.ticket_issues WHERE issue = \(old)) RETURNING id)
            INSERT INTO analytics.ticket_history (ticket, author, act, before, after)
            SELECT c.id, \(Author.service.text), h.act, h.before, h.after
            FROM changed AS c CROSS JOIN (
                SELECT 1, \(TicketActivity.issueDetached.rawValue), to_jsonb(i.number), NULL FROM analytics.issues AS i WHERE i.id = \(old)
                UNION ALL
                SELECT 2, \(TicketActivity.issueAttached.rawValue), NULL, to_jsonb(i.number)
                FROM analytics.issues AS i WHERE i.id = \(new)) AS h (place, act, before, after)
            WHERE h.place = 1 OR NOT EXISTS (SELECT FROM analytics.ticket_issues AS a WHERE a.ticket = c.id AND a.issue = \(new))
            ORDER BY c.id, h.place
            """)
    }
}

extension TicketWork {
    func attach(issues numbers: [Int], to id: Int64) async throws {
        // Merged issues can also be found by their former numbers.
        let found: [Int] = try await transaction.query(
            """
            SELECT i.id FROM unnest(\(numbers)) AS w (number)
            LEFT JOIN analytics.merged_issues AS m ON m.space = \(space.id) AND m.number = w.number
            JOIN analytics.issues AS i ON i.space = \(space.id) AND i.deleted IS NULL AND (i.id = m.issue OR m.issue IS NULL AND i.number = w.number)
            """
        ).map { try $0.decode(0) }
        guard found.count == numbers.count else {
            throw ServiceError(.invalidBody, "There is no such issue.", field: "issues")
        }
        let added: [Int] = try await transaction.query(
            """
            WITH added AS (
                INSERT INTO analytics.ticket_issues (ticket, issue, author)
                SELECT \(id), i.id, \(author.text) FROM analytics.issues AS i WHERE i.id = ANY (\(found))
                ON CONFLICT DO NOTHING RETURNING issue)
            SELECT i.number FROM added JOIN analytics.issues AS i ON i.id = added.issue ORDER BY i.number
            """
        ).map { try $0.decode(0) }
        try await checkCount(
            "analytics.ticket_issues WHERE ticket = \(id)", upTo: TicketLimits.issuesOfTicket, "issues per ticket",
            areAdded: true)
        for number in added { try await record(.issueAttached, of: id, after: .number(String(number))) }
    }
}
