import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A requested change of a sprint; nil leaves a field as it is.
struct SprintChange: Sendable {
    static let fields: Set<String> = ["name", "goal", "starts", "ends"]

    var name: String?
    var goal: String?
    /// Days; `.some(nil)` removes them.
    var starts: String??
    var ends: String??

    /// - Throws: `invalid-body` naming the field.
    init(_ fields: BodyFields) throws {
        name = try TicketInput.line(fields, "name", upTo: 100)
        if fields["name"] != nil, name == nil {
            throw ServiceError(.invalidBody, "Expected a name, found null.", field: "name")
        }
        if fields["goal"] != nil { goal = try TicketInput.text(fields, "goal", upTo: 2_000) ?? "" }
        if fields["starts"] != nil { starts = .some(try TicketInput.day(fields, "starts")) }
        if fields["ends"] != nil { ends = .some(try TicketInput.day(fields, "ends")) }
    }
}

/// The sprints of a space, by number. At most one is active.
struct SprintStore: Sendable {
    let tickets: TicketStore
    let now: @Sendable () -> Date

    /// - Throws: `limit-exceeded`; `invalid-body` if the sprint ends before it starts.
    func create(_ change: SprintChange, in space: Space, by author: Author) async throws -> String {
        guard let name = change.name else { throw ServiceError(.invalidBody, "This field is required.", field: "name") }
        return try await tickets.change(space, by: author) { work in
            try await work.checkCount(
                "analytics.ticket_sprints WHERE space = \(space.id)", upTo: TicketLimits.sprints, "sprints")
            let number: Int = try await Self.checkingDays {
                try await work.transaction.query(
                    """
                    WITH n AS (UPDATE analytics.ticket_spaces SET last_sprint = last_sprint + 1 WHERE space = \(space.id) RETURNING last_sprint)
                    INSERT INTO analytics.ticket_sprints (space, number, name, goal, starts, ends, author)
                    SELECT \(space.id), n.last_sprint, \(name), \(change.goal ?? ""), \(change.starts ?? nil)::text::date, \(change.ends ?? nil)::text::date,
                        \(author.text)
                    FROM n RETURNING number
                    """)[0].decode(0)
            }
            return try await work.sprint(number).json
        }
    }

    /// - Throws: `sprint-not-found`, `precondition-failed`; `invalid-body` if the sprint ends before it starts.
    func update(_ number: Int, _ change: SprintChange, if condition: Precondition?, in space: Space, by author: Author)
        async throws -> String
    {
        try await tickets.change(space, by: author) { work in
            try await work.sprint(number).check(condition)
            try await Self.checkingDays {
                try await work.transaction.execute(
                    """
                    UPDATE analytics.ticket_sprints SET name = coalesce(\(change.name), name), goal = coalesce(\(change.goal), goal),
                        starts = CASE WHEN \(change.starts == nil) THEN starts ELSE \(change.starts ?? nil)::text::date END,
                        ends = CASE WHEN \(change.ends == nil) THEN ends ELSE \(change.ends ?? nil)::text::date END, revision = revision + 1
                    WHERE space = \(space.id) AND number = \(number)
                    """)
            }
            return try await work.sprint(number).json
        }
    }

    /// - Throws: `sprint-not-found`; `conflict` if the sprint is not planned, or another is active.
    func start(_ number: Int, in space: Space, by author: Author) async throws -> String {
        try await tickets.change(space, by: author) { work in
            guard try await work.sprint(number).state == "planned" else {
                throw ServiceError(.conflict, "This sprint has already been started.")
            }
            let active = try await work.transaction.query(
                "SELECT FROM analytics.ticket_sprints WHERE space = \(space.id) AND state = 'active'")
            guard active.isEmpty else { throw ServiceError(.conflict, "Another sprint is active. Close it first.") }
            try await work.transaction.execute(
                """
                UPDATE analytics.ticket_sprints SET state = 'active', started = clock_timestamp(), starts = coalesce(starts, least(current_date, ends)),
                    revision = revision + 1
                WHERE space = \(space.id) AND number = \(number)
                """)
            return try await work.sprint(number).json
        }
    }

    /// Closes a sprint and moves its unfinished tickets to another sprint or to the backlog.
    ///
    /// - Parameter next: The number of the other sprint; nil for the backlog.
    /// - Throws: `sprint-not-found`; `conflict` if the sprint is not active; `invalid-body` if the next sprint does not
    ///   exist or is closed.
    func close(_ number: Int, movingTo next: Int?, in space: Space, by author: Author) async throws -> String {
        try await tickets.change(space, by: author) { work in
            guard try await work.sprint(number).state == "active" else {
                throw ServiceError(.conflict, "This sprint is not active.")
            }
            if let next {
                guard next != number, let state = try await work.findSprint(next)?.state, state != "closed" else {
                    throw ServiceError(.invalidBody, "There is no such open sprint.", field: "unfinishedTo")
                }
            }
            // The report ends at this time: after the changes that were made while this call waited for the lock, and
            // before the tickets move.
            try await work.transaction.execute(
                """
                UPDATE analytics.ticket_sprints SET state = 'closed', closed = clock_timestamp(), ends = coalesce(ends, greatest(current_date, starts)),
                    revision = revision + 1
                WHERE space = \(space.id) AND number = \(number)
                """)
            try await work.moveTickets(of: number, to: next, onlyUnfinished: true)
            return try await work.sprint(number).json
        }
    }

    /// Deletes a planned sprint and moves its tickets to the backlog.
    ///
    /// - Throws: `sprint-not-found`, `precondition-failed`; `conflict` if the sprint has been started, because it is
    ///   then part of its tickets' history.
    func delete(_ number: Int, if condition: Precondition?, in space: Space, by author: Author) async throws {
        try await tickets.change(space, by: author) { work in
            let sprint = try await work.sprint(number)
            try sprint.check(condition)
            guard sprint.state == "planned" else {
                throw ServiceError(.conflict, "Only a sprint that has not been started can be deleted.")
            }
            try await work.moveTickets(of: number, to: nil, onlyUnfinished: false)
            try await work.transaction.execute(
                "DELETE FROM analytics.ticket_sprints WHERE space = \(space.id) AND number = \(number)")
        }
    }

    /// - Throws: `sprint-not-found`.
    func read(_ number: Int, in space: Space) async throws -> (json: String, revision: Int64) {
        let rows = try await tickets.postgres.query(
            "SELECT \(SprintRow.json), p.revision FROM analytics.ticket_sprints AS p WHERE p.space = \(space.id) AND p.number = \(number)"
        )
        guard let row = rows.first else { throw ServiceError(.sprintNotFound) }
        return (try row.decode(0), try row.decode(1))
    }

    /// Sprints with numbers below `before`, newest first; nil for all.
    func list(in space: Space, before: Int?, limit: Int) async throws -> [(number: Int, json: String)] {
        try await tickets.postgres.query(
            """
            SELECT p.number, \(SprintRow.json) FROM analytics.ticket_sprints AS p WHERE p.space = \(space.id) AND p.number < \(before ?? Int(Int32.max))
            ORDER BY p.number DESC LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// A constraint ensures that no sprint ends before it starts. PostgreSQL also rejects dates that do not exist.
    @discardableResult
    private static func checkingDays<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == "23514" {
            throw ServiceError(.invalidBody, "A sprint cannot end before it starts.", field: "ends")
        }
    }
}

/// The fields of a sprint's row that changes need.
struct SprintRow: Sendable {
    let json: String
    let state: String
    let revision: Int64

    /// The JSON of a row `p`.
    static let json: PostgresQuery = """
        jsonb_build_object(
            'number', p.number, 'name', p.name, 'goal', p.goal, 'starts', p.starts, 'ends', p.ends, 'state', p.state, 'revision', p.revision,
            'started', \(PostgresQuery.rfc3339("p.started")), 'closed', \(PostgresQuery.rfc3339("p.closed")),
            'created', \(PostgresQuery.rfc3339("p.created")), 'createdBy', p.author, 'counts', (
                SELECT jsonb_build_object('todo', count(*) FILTER (WHERE t.status = 'todo'), 'inProgress', count(*) FILTER (WHERE t.status = 'inProgress'),
                    'onHold', count(*) FILTER (WHERE t.status = 'onHold'), 'complete', count(*) FILTER (WHERE t.status = 'complete'))
                FROM analytics.tickets AS t WHERE t.space = p.space AND t.sprint = p.number AND t.deleted IS NULL), 'estimates', (
                SELECT jsonb_build_object('all', coalesce(sum(t.estimate), 0), 'complete', coalesce(sum(t.estimate) FILTER (WHERE t.status = 'complete'), 0))
                FROM analytics.tickets AS t WHERE t.space = p.space AND t.sprint = p.number AND t.deleted IS NULL))::text
        """

    func check(_ condition: Precondition?) throws {
        guard condition?.tags?.contains(String(revision)) ?? true else {
            throw ServiceError(.preconditionFailed, "The sprint has revision \(revision) now.")
        }
    }
}

extension TicketWork {
    func findSprint(_ number: Int) async throws -> SprintRow? {
        try await transaction.query(
            "SELECT \(SprintRow.json), p.state, p.revision FROM analytics.ticket_sprints AS p WHERE p.space = \(space.id) AND p.number = \(number)"
        ).first.map { SprintRow(json: try $0.decode(0), state: try $0.decode(1), revision: try $0.decode(2)) }
    }

    /// - Throws: `sprint-not-found`.
    func sprint(_ number: Int) async throws -> SprintRow {
        guard let sprint = try await findSprint(number) else { throw ServiceError(.sprintNotFound) }
        return sprint
    }

    /// Also moves deleted tickets, because they may be restored.
    fileprivate func moveTickets(of number: Int, to next: Int?, onlyUnfinished: Bool) async throws {
        try await transaction.execute(
            """
            WITH moved AS (
                UPDATE analytics.tickets SET sprint = \(next), revision = revision + 1, generation = \(generation), updated = clock_timestamp()
                WHERE space = \(space.id) AND sprint = \(number) AND NOT (\(onlyUnfinished) AND status = 'complete') RETURNING id)
            INSERT INTO analytics.ticket_history (ticket, author, act, field, before, after)
            SELECT id, \(author.text), \(TicketActivity.changed.rawValue), 'sprint', to_jsonb(\(number)),
                to_jsonb(\(next)) FROM moved ORDER BY id
            """)
    }
}
