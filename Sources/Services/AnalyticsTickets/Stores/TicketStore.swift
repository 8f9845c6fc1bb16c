import Foundation
import MartletAPI
import MartletCore
package import MartletHTTP
package import MartletPostgres

/// Marks crash issues as resolved, in the transaction that completes their ticket. Issues that are already resolved are
/// left alone.
///
/// `version` is the ticket's app version, if any.
package typealias ResolveIssues =
    @Sendable (
        _ ids: [Int64], _ version: String?, _ author: Author, _ space: Space, _ transaction: PostgresTransaction
    ) async throws -> Void

/// Until the transaction ends, no other transaction can store crash reports of these spaces.
package typealias LockReports =
    @Sendable (_ spaces: Set<Int32>, _ transaction: PostgresTransaction) async throws -> Void

/// Tickets with everything that belongs to them.
package struct TicketStore: Sendable {
    /// The channel on which changes are announced. The payload is the id of the space.
    static let channel = "martlet_tickets"

    let postgres: PostgresClient
    let lockReports: LockReports
    let resolveIssues: ResolveIssues

    private static let retries = 3

    /// Runs `body` while no one else changes tickets of the space. Its writes are atomic, and followers of the space
    /// are notified. Runs again after a deadlock with a transaction that merges or resolves the same crash issues.
    ///
    /// - Parameter holdingReports: Whether to run `lockReports` for the space first.
    func change<Value: Sendable>(
        _ space: Space, by author: Author, holdingReports: Bool = false,
        _ body: @Sendable (TicketWork) async throws -> Value
    ) async throws -> Value {
        try await postgres.withTransaction(serializationRetries: Self.retries) { transaction in
            // Locked first, in the same order as transactions that store reports and then link them to feedback.
            if holdingReports { try await lockReports([space.id], transaction) }
            return try await body(try await begin(in: space, by: author, transaction))
        }
    }

    /// Starts a change as part of a transaction. Others cannot change tickets of the space until it ends.
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

    /// The number of changes in the space so far.
    func generation(of space: Space) async throws -> Int64 {
        try await postgres.query("SELECT generation FROM analytics.ticket_spaces WHERE space = \(space.id)").first?
            .decode(0) ?? 0
    }

    /// The tickets changed after a generation, and the space's current generation. `numbers` is nil if there are more
    /// than `limit`.
    func changes(in space: Space, after generation: Int64, limit: Int) async throws -> (
        generation: Int64, numbers: [Int]?
    ) {
        // A single statement, so that both values have the same snapshot.
        let row = try await postgres.query(
            """
            SELECT coalesce((SELECT generation FROM analytics.ticket_spaces WHERE space = \(space.id)), 0),
                ARRAY(SELECT number FROM analytics.tickets WHERE space = \(space.id) AND generation > \(generation) ORDER BY generation LIMIT \(limit + 1))
            """)[0]
        let numbers: [Int] = try row.decode(1)
        return (try row.decode(0), numbers.count > limit ? nil : numbers)
    }

    /// The prefix of ticket keys.
    func prefix(in space: Space) async throws -> String {
        try await postgres.query("SELECT prefix FROM analytics.ticket_spaces WHERE space = \(space.id)").first?.decode(
            0) ?? "APP"
    }

    func setPrefix(_ prefix: String, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let changed = try await work.transaction.execute(
                "UPDATE analytics.ticket_spaces SET prefix = \(prefix) WHERE space = \(space.id) AND prefix <> \(prefix)"
            )
            // Followers still show the old keys.
            guard changed > 0 else { return }
            try await work.transaction.execute(
                "UPDATE analytics.tickets SET generation = \(work.generation) WHERE space = \(space.id)")
        }
    }
}

/// A change in progress. Others cannot change tickets of the space until it ends.
struct TicketWork: Sendable {
    let transaction: PostgresTransaction
    let space: Space
    let author: Author
    /// The generation that the space will have after the change.
    let generation: Int64
    let resolveIssues: ResolveIssues

    /// A ticket that is not in the bin.
    ///
    /// - Throws: `ticket-not-found`.
    func ticket(_ number: Int) async throws -> TicketRow {
        guard let row = try await row(number), !row.isDeleted else { throw ServiceError(.ticketNotFound) }
        return row
    }

    /// A ticket, which may be in the bin; nil if it does not exist.
    func row(_ number: Int) async throws -> TicketRow? {
        try await transaction.query(
            "SELECT \(TicketRow.columns) FROM analytics.tickets AS t WHERE t.space = \(space.id) AND t.number = \(number)"
        )
        .first.map { try TicketRow($0) }
    }

    /// Marks a ticket as changed, because something that belongs to it has.
    func touch(_ id: Int64) async throws {
        try await transaction.execute(
            "UPDATE analytics.tickets SET updated = clock_timestamp(), generation = \(generation) WHERE id = \(id)")
    }

    /// Marks the tickets blocked by this one as changed, because boards show whether a ticket is blocked.
    func touchBlocked(by id: Int64) async throws {
        try await transaction.execute(
            """
            UPDATE analytics.tickets SET generation = \(generation)
            WHERE id IN (SELECT target FROM analytics.ticket_links WHERE source = \(id) AND kind = 'blocks')
            """)
    }

    /// Adds an entry to the history of a ticket.
    func record(
        _ activity: TicketActivity, of id: Int64, field: String? = nil, before: JSONValue? = nil,
        after: JSONValue? = nil
    )
        async throws
    {
        try await transaction.execute(
            """
            INSERT INTO analytics.ticket_history (ticket, author, act, field, before, after)
            VALUES (\(id), \(author.text), \(activity.rawValue), \(field), \(before.map { PostgresJSON($0.text) }),
                \(after.map { PostgresJSON($0.text) }))
            """)
    }

    /// - Parameter areAdded: Whether the new rows are counted already; otherwise one is about to be added.
    /// - Throws: `limit-exceeded` if there would be more than `limit` rows.
    func checkCount(_ rows: PostgresQuery, upTo limit: Int, _ what: String, areAdded: Bool = false) async throws {
        let count: Int = try await transaction.query("SELECT count(*) FROM \(rows)")[0].decode(0)
        guard count + (areAdded ? 0 : 1) <= limit else {
            throw ServiceError(.limitExceeded, "There may be at most \(limit) \(what).")
        }
    }
}

extension TicketRow {
    /// Columns of a row `t`.
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
            throw ServiceError(.internalError, cause: "column \(column) of a ticket has an unknown value")
        }
        return word
    }
}
