import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

extension TicketStore {
    /// Attaches crash issues by their numbers. Those that are there already stay.
    ///
    /// - Throws: `ticket-not-found`, `limit-exceeded`; `invalid-body` for an issue that is not there.
    func attach(issues: [Int], to number: Int, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            try await work.attach(issues: issues, to: id)
            try await work.touch(id)
        }
    }

    /// - Throws: `ticket-not-found`, also where the ticket does not have the issue.
    func detach(issue: Int, from number: Int, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            let removed = try await work.transaction.execute(
                """
                DELETE FROM analytics.ticket_issues AS a USING analytics.issues AS i
                WHERE a.ticket = \(id) AND i.id = a.issue AND i.space = \(space.id) AND i.number = \(issue)
                """)
            guard removed > 0 else { throw HTTPProblem(.notFound, "The ticket does not have this issue.") }
            try await work.record(.issueDetached, of: id, before: .number(String(issue)))
            try await work.touch(id)
        }
    }

    /// The tickets of an issue become another's: for when two issues turn out to be one.
    static func moveIssue(from old: Int64, to new: Int64, _ transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            INSERT INTO analytics.ticket_issues (ticket, issue, author, added)
            SELECT ticket, \(new), author, added FROM analytics.ticket_issues WHERE issue = \(old) ON CONFLICT DO NOTHING
            """)
        try await transaction.execute("DELETE FROM analytics.ticket_issues WHERE issue = \(old)")
    }
}

extension TicketWork {
    func attach(issues numbers: [Int], to id: Int64) async throws {
        let found: Int = try await transaction.query(
            "SELECT count(*) FROM analytics.issues WHERE space = \(space.id) AND number = ANY (\(numbers)) AND deleted IS NULL")[0].decode(0)
        guard found == numbers.count else { throw HTTPProblem(.invalidBody, "There is no such issue.", field: "issues") }
        let added: [Int] = try await transaction.query(
            """
            WITH added AS (
                INSERT INTO analytics.ticket_issues (ticket, issue, author)
                SELECT \(id), i.id, \(author.text) FROM analytics.issues AS i WHERE i.space = \(space.id) AND i.number = ANY (\(numbers)) AND i.deleted IS NULL
                ON CONFLICT DO NOTHING RETURNING issue)
            SELECT i.number FROM added JOIN analytics.issues AS i ON i.id = added.issue ORDER BY i.number
            """
        ).map { try $0.decode(0) }
        try await checkCount("analytics.ticket_issues WHERE ticket = \(id)", upTo: TicketLimits.issues + 1, "issues of a ticket")
        for number in added { try await record(.issueAttached, of: id, after: .number(String(number))) }
    }
}
