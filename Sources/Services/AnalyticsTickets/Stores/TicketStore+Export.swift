import MartletCore
import MartletPostgres

extension TicketStore {
    static let exportHeader = CSVLine.text([
        "key", "type", "status", "priority", "title", "assignee", "appVersion", "sprint", "labels", "createdBy",
        "created", "updated", "completed",
        "comments", "issues", "estimate", "description", "feedback",
    ])

    /// Lines of CSV in the order of numbers, starting after the number `after`.
    func exportLines(_ filter: TicketFilter, after: Int, limit: Int) async throws -> (text: String, last: Int?) {
        let rows = try await postgres.query(
            """
            SELECT t.number, ARRAY[
                s.prefix || '-' || t.number, t.type, t.status, t.priority, t.title, coalesce(p.name, t.assignee::text, ''), coalesce(t.app_version, ''),
                coalesce(n.name, ''), (
                    SELECT coalesce(string_agg(l.name, ', ' ORDER BY l.name), '') FROM analytics.ticket_label_uses AS u
                    JOIN analytics.ticket_labels AS l ON l.id = u.label WHERE u.ticket = t.id),
                coalesce(a.name, t.author), \(PostgresQuery.rfc3339("t.created")), \(PostgresQuery.rfc3339("t.updated")),
                coalesce(\(PostgresQuery.rfc3339("t.completed")), ''),
                (SELECT count(*)::text FROM analytics.ticket_comments AS c WHERE c.ticket = t.id), (
                    SELECT coalesce(string_agg(i.number::text, ', ' ORDER BY i.number), '') FROM analytics.ticket_issues AS b
                    JOIN analytics.issues AS i ON i.id = b.issue WHERE b.ticket = t.id),
                coalesce(t.estimate::text, ''), t.description, coalesce((SELECT f.message FROM analytics.ticket_feedback AS f WHERE f.ticket = t.id), '')]
            FROM analytics.tickets AS t JOIN analytics.ticket_spaces AS s ON s.space = t.space
            LEFT JOIN analytics.ticket_people AS p ON p.space = t.space AND p.id = t.assignee
            LEFT JOIN analytics.ticket_people AS a ON a.space = t.space AND 'staff:' || a.id = t.author
            LEFT JOIN analytics.ticket_sprints AS n ON n.space = t.space AND n.number = t.sprint
            WHERE \(filter.condition) AND t.number > \(after) ORDER BY t.number LIMIT \(limit)
            """)
        let lines = try rows.map { CSVLine.text((try $0.decode(1, as: [String].self)).map { Optional($0) }) }
        return (lines.joined(), try rows.last?.decode(0))
    }
}
