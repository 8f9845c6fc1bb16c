import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Marks crash issues resolved, in the transaction that completes the ticket which has them; those that are resolved
/// already are left alone.
///
/// `version`: the app version of the ticket; nil: it has none.
typealias ResolveIssues =
    @Sendable (
        _ ids: [Int64], _ version: String?, _ author: Author, _ space: Space, _ transaction: PostgresTransaction
    ) async throws -> Void

/// Tickets with all that belongs to them.
struct TicketStore: Sendable {
    /// Whoever follows listens here; the payload is the space's number.
    static let channel = "martlet_tickets"

    let postgres: PostgresClient
    let resolveIssues: ResolveIssues

    private static let retries = 3

    /// Runs `body` as the only one who changes tickets of the space. What it writes is there as a whole or not at all,
    /// and whoever follows the space is told. After a deadlock with who merges or resolves the same crash issues it
    /// runs again.
    ///
    /// - Parameter holdingReports: whether no crash report of the space is stored meanwhile.
    func change<Value: Sendable>(
        _ space: Space, by author: Author, holdingReports: Bool = false,
        _ body: @Sendable (TicketWork) async throws -> Value
    ) async throws -> Value {
        try await postgres.withTransaction(serializationRetries: Self.retries) { transaction in
            // First, as who stores reports and then joins them with feedback does.
            if holdingReports { try await IssueStore.lock([space.id], transaction) }
            return try await body(try await begin(in: space, by: author, transaction))
        }
    }

    /// The same as part of a transaction: nobody else changes tickets of the space until it ends.
    func begin(in space: Space, by author: Author, _ transaction: PostgresTransaction) async throws -> TicketWork {
        let row = try await transaction.query(
            """
            INSERT INTO analytics.ticket_spaces AS s (space, generation) VALUES (\(space.id), 1)
            ON CONFLICT (space) DO UPDATE SET generation = s.generation + 1
            RETURNING s.generation, pg_notify(\(Self.channel), \(String(space.id)))
            """)[0]
        return TicketWork(
            transaction: transaction, space: space, author: author, generation: try row.decode(0),
            resolveIssues: resolveIssues)
    }

    /// How many changes there were in the space.
    func generation(of space: Space) async throws -> Int64 {
        try await postgres.query("SELECT generation FROM analytics.ticket_spaces WHERE space = \(space.id)").first?
            .decode(0) ?? 0
    }

    /// Numbers of the tickets that were changed behind a generation, and the space's generation; `numbers` nil: more
    /// than `limit`.
    func changes(in space: Space, after generation: Int64, limit: Int) async throws -> (
        generation: Int64, numbers: [Int]?
    ) {
        // One statement, so that both are of the same moment.
        let row = try await postgres.query(
            """
            SELECT coalesce((SELECT generation FROM analytics.ticket_spaces WHERE space = \(space.id)), 0),
                ARRAY(SELECT number FROM analytics.tickets WHERE space = \(space.id) AND generation > \(generation) ORDER BY generation LIMIT \(limit + 1))
            """)[0]
        let numbers: [Int] = try row.decode(1)
        return (try row.decode(0), numbers.count > limit ? nil : numbers)
    }

    /// What stands before numbers.
    func prefix(in space: Space) async throws -> String {
        try await postgres.query("SELECT prefix FROM analytics.ticket_spaces WHERE space = \(space.id)").first?.decode(
            0) ?? "APP"
    }

    func setPrefix(_ prefix: String, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let changed = try await work.transaction.execute(
                "UPDATE analytics.ticket_spaces SET prefix = \(prefix) WHERE space = \(space.id) AND prefix <> \(prefix)"
            )
            // Whoever follows has keys that are wrong now.
            guard changed > 0 else { return }
            try await work.transaction.execute(
                "UPDATE analytics.tickets SET generation = \(work.generation) WHERE space = \(space.id)")
        }
    }
}

/// A change of a space's tickets under way: nobody else changes any until it ends.
struct TicketWork: Sendable {
    let transaction: PostgresTransaction
    let space: Space
    let author: Author
    /// What the space's becomes.
    let generation: Int64
    let resolveIssues: ResolveIssues

    /// The row of a ticket that is not in the bin.
    ///
    /// - Throws: `ticket-not-found`.
    func ticket(_ number: Int) async throws -> TicketRow {
        guard let row = try await row(number), !row.isDeleted else { throw HTTPProblem(.ticketNotFound) }
        return row
    }

    /// Also of one in the bin; nil: there is none.
    func row(_ number: Int) async throws -> TicketRow? {
        try await transaction.query(
            "SELECT \(TicketRow.columns) FROM analytics.tickets AS t WHERE t.space = \(space.id) AND t.number = \(number)"
        )
        .first.map { try TicketRow($0) }
    }

    /// Something that belongs to the ticket was changed.
    func touch(_ id: Int64) async throws {
        try await transaction.execute(
            "UPDATE analytics.tickets SET updated = clock_timestamp(), generation = \(generation) WHERE id = \(id)")
    }

    /// A ticket is no longer, or again, in the way of those that it blocks: boards show it.
    func touchBlocked(by id: Int64) async throws {
        try await transaction.execute(
            """
            UPDATE analytics.tickets SET generation = \(generation)
            WHERE id IN (SELECT target FROM analytics.ticket_links WHERE source = \(id) AND kind = 'blocks')
            """)
    }

    /// Writes into the history of a ticket.
    func record(_ act: TicketAct, of id: Int64, field: String? = nil, before: JSONValue? = nil, after: JSONValue? = nil)
        async throws
    {
        try await transaction.execute(
            """
            INSERT INTO analytics.ticket_history (ticket, author, act, field, before, after)
            VALUES (\(id), \(author.text), \(act.rawValue), \(field), \(before.map { PostgresJSON($0.text) }), \(after.map { PostgresJSON($0.text) }))
            """)
    }

    /// - Throws: `limit-exceeded` when a table has as many rows of the ticket as it may.
    func checkCount(_ rows: PostgresQuery, upTo limit: Int, _ what: String) async throws {
        let count: Int = try await transaction.query("SELECT count(*) FROM \(rows)")[0].decode(0)
        guard count < limit else { throw HTTPProblem(.limitExceeded, "There may be at most \(limit) \(what).") }
    }
}

extension TicketRow {
    /// Of a row `t`.
    static let columns: PostgresQuery = """
        t.id, t.number, t.type, t.status, t.priority, t.title, t.description, t.assignee, t.app_version, t.sprint, t.position, t.revision,
        t.deleted IS NOT NULL, t.estimate, ARRAY(
            SELECT l.name FROM analytics.ticket_label_uses AS u JOIN analytics.ticket_labels AS l ON l.id = u.label WHERE u.ticket = t.id ORDER BY l.name)
        """

    init(_ row: PostgresRow) throws {
        id = try row.decode(0)
        number = try row.decode(1)
        type = try Self.word(row, 2)
        status = try Self.word(row, 3)
        priority = try Self.word(row, 4)
        title = try row.decode(5)
        description = try row.decode(6)
        assignee = try row.decode(7)
        appVersion = try row.decode(8)
        sprint = try row.decode(9)
        position = try row.decode(10)
        revision = try row.decode(11)
        isDeleted = try row.decode(12)
        estimate = try row.decode(13)
        labels = try row.decode(14)
    }

    private static func word<Word: RawRepresentable<String>>(_ row: PostgresRow, _ column: Int) throws -> Word {
        let text: String = try row.decode(column)
        guard let word = Word(rawValue: text) else {
            throw HTTPProblem(.internalError, cause: "a ticket's column \(column) has a value that is not known")
        }
        return word
    }
}
