import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

extension TicketStore {
    /// A ticket with everything that belongs to it, as JSON, and its revision.
    ///
    /// - Throws: `ticket-not-found`.
    func read(_ number: Int, in space: Space) async throws -> (json: String, revision: Int64) {
        let rows = try await postgres.query(
            """
            SELECT (\(Self.summary) || \(Self.details))::text, t.revision
            FROM analytics.tickets AS t JOIN analytics.ticket_spaces AS s ON s.space = t.space
            WHERE t.space = \(space.id) AND t.number = \(number) AND t.deleted IS NULL
            """)
        guard let row = rows.first else { throw ServiceError(.ticketNotFound) }
        return (try row.decode(0), try row.decode(1))
    }

    /// Tickets by number, in the form used in lists.
    func list(_ numbers: [Int], in space: Space) async throws -> [String] {
        try await postgres.query(
            """
            SELECT (\(Self.summary))::text FROM analytics.tickets AS t JOIN analytics.ticket_spaces AS s ON s.space = t.space
            WHERE t.space = \(space.id) AND t.number = ANY (\(numbers)) AND t.deleted IS NULL ORDER BY t.number
            """
        ).map { try $0.decode(0) }
    }

    /// The assignee of a ticket; nil if it has none or does not exist.
    func assignee(of number: Int, in space: Space) async throws -> UUID? {
        try await postgres.query(
            "SELECT assignee FROM analytics.tickets WHERE space = \(space.id) AND number = \(number)"
        ).first?.decode(0)
    }

    /// A page of tickets, with the cursor of the next page.
    func list(_ filter: TicketFilter, _ order: TicketOrder, after cursor: TicketOrder.Cursor?, limit: Int) async throws
        -> (page: [String], next: String?)
    {
        let condition =
            try cursor.map { filter.condition + " AND " + (try order.condition(after: $0)) } ?? filter.condition
        let rows = try await postgres.query(
            """
            SELECT (\(Self.summary))::text, \(order.valueText), t.number
            FROM analytics.tickets AS t JOIN analytics.ticket_spaces AS s ON s.space = t.space
            WHERE \(condition) ORDER BY \(order.clause) LIMIT \(limit + 1)
            """)
        let page = rows.prefix(limit)
        let next = rows.count > limit ? try page.last.map { order.cursorText(try $0.decode(1), try $0.decode(2)) } : nil
        return (try page.map { try $0.decode(0) }, next)
    }

    /// A column of the board.
    struct Column: Sendable {
        var status: TicketStatus
        /// Number of tickets that match the filter.
        var count = 0
        /// The first of these tickets, as JSON.
        var tickets: [String] = []
        /// The cursor of the next page, in the order of `position`; nil if there are no more tickets.
        var next: String?
    }

    /// The columns with up to `limit` tickets each, and a generation that is at most as new as the tickets.
    func board(_ filter: TicketFilter, in space: Space, limit: Int) async throws -> (
        generation: Int64, columns: [Column]
    ) {
        let generation = try await generation(of: space)
        let order = try TicketOrder("position")
        let rows = try await postgres.query(
            """
            SELECT (\(Self.summary))::text, t.status, t.position, t.number, n.in_column
            FROM (SELECT t.status, count(*) AS in_column FROM analytics.tickets AS t WHERE \(filter.condition) GROUP BY t.status) AS n
            CROSS JOIN LATERAL (
                SELECT * FROM analytics.tickets AS t WHERE \(filter.condition) AND t.status = n.status ORDER BY t.position, t.number LIMIT \(limit)) AS t
            JOIN analytics.ticket_spaces AS s ON s.space = t.space
            ORDER BY t.status, t.position, t.number
            """)
        var columns = TicketStatus.allCases.map { Column(status: $0) }
        for row in rows {
            let status: String = try row.decode(1)
            guard let index = columns.firstIndex(where: { $0.status.rawValue == status }) else { continue }
            columns[index].tickets.append(try row.decode(0))
            columns[index].count = try row.decode(4)
            let isLastOfMany = columns[index].tickets.count == limit && columns[index].count > limit
            if isLastOfMany { columns[index].next = order.cursorText(try row.decode(2), try row.decode(3)) }
        }
        return (generation, columns)
    }

    // MARK: JSON

    /// Whether an open ticket blocks the row `t`.
    static let isBlocked: PostgresQuery = """
        EXISTS (
            SELECT FROM analytics.ticket_links AS k JOIN analytics.tickets AS o ON o.id = k.source
            WHERE k.target = t.id AND k.kind = 'blocks' AND o.status <> 'complete' AND o.deleted IS NULL)
        """

    /// The JSON of rows `t` and `s` in lists.
    static let summary: PostgresQuery = """
        jsonb_build_object(
            'number', t.number, 'key', s.prefix || '-' || t.number, 'type', t.type, 'status', t.status, 'priority', t.priority, 'title', t.title,
            'assignee', t.assignee, 'appVersion', t.app_version, 'sprint', t.sprint, 'estimate', t.estimate, 'position', t.position, 'revision', t.revision,
            'generation', t.generation, 'createdBy', t.author, 'created', \(PostgresQuery.rfc3339("t.created")),
            'updated', \(PostgresQuery.rfc3339("t.updated")), 'completed', \(PostgresQuery.rfc3339("t.completed")),
            'deleted', \(PostgresQuery.rfc3339("t.deleted")),
            'isBlocked', \(isBlocked), 'labels', (
                SELECT coalesce(jsonb_agg(l.name ORDER BY l.name), '[]') FROM analytics.ticket_label_uses AS u
                JOIN analytics.ticket_labels AS l ON l.id = u.label WHERE u.ticket = t.id),
            'commentCount', (SELECT count(*) FROM analytics.ticket_comments AS c WHERE c.ticket = t.id),
            'attachmentCount', (SELECT count(*) FROM analytics.ticket_attachments AS f WHERE f.ticket = t.id),
            'issueCount', (SELECT count(*) FROM analytics.ticket_issues AS a WHERE a.ticket = t.id))
        """

    /// The JSON of rows `t` and `s` for a single ticket.
    private static let details: PostgresQuery = """
        jsonb_build_object(
            'description', t.description,
            'feedback', (
                SELECT jsonb_build_object('message', f.message, 'name', f.name, 'email', f.email, 'user', f.user_id,
                    'eventId', replace(f.event_id::text, '-', ''))
                FROM analytics.ticket_feedback AS f WHERE f.ticket = t.id),
            'attachments', (
                SELECT coalesce(jsonb_agg(\(attachment) ORDER BY f.number), '[]') FROM analytics.ticket_attachments AS f WHERE f.ticket = t.id),
            'issues', (
                SELECT coalesce(jsonb_agg(jsonb_build_object('number', i.number, 'title', i.title, 'culprit', i.culprit, 'status', i.status)
                    ORDER BY a.added, i.number), '[]')
                FROM analytics.ticket_issues AS a JOIN analytics.issues AS i ON i.id = a.issue WHERE a.ticket = t.id AND i.deleted IS NULL),
            'links', (
                SELECT coalesce(jsonb_agg(jsonb_build_object('kind', k.kind, 'ticket', o.number, 'key', s.prefix || '-' || o.number, 'title', o.title,
                    'status', o.status) ORDER BY k.kind, o.number), '[]')
                FROM (
                    SELECT kind, target AS other FROM analytics.ticket_links WHERE source = t.id
                    UNION ALL
                    SELECT CASE kind WHEN 'blocks' THEN 'blockedBy' WHEN 'duplicates' THEN 'duplicatedBy' ELSE kind END, source
                    FROM analytics.ticket_links WHERE target = t.id) AS k
                JOIN analytics.tickets AS o ON o.id = k.other AND o.deleted IS NULL))
        """

    /// The JSON of a row `f`.
    static let attachment: PostgresQuery = """
        jsonb_build_object('number', f.number, 'name', f.name, 'contentType', f.content_type, 'size', f.size, 'sha256', f.sha256, 'by', f.author,
            'created', \(PostgresQuery.rfc3339("f.created")))
        """
}
