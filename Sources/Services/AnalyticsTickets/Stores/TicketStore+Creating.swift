import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A ticket to be created.
struct NewTicket: Sendable {
    var type = TicketType.task
    var status = TicketStatus.todo
    var priority = TicketPriority.medium
    var title: String
    var description = ""
    var assignee: UUID?
    var appVersion: String?
    var sprint: Int?
    var estimate: Int?
    var labels: [String] = []
    /// The numbers of crash issues.
    var issues: [Int] = []

    init(title: String) {
        self.title = title
    }

    /// - Throws: `invalid-body` if the title is missing.
    init(_ change: TicketChange, issues: [Int]) throws {
        guard let title = change.title else {
            throw ServiceError(.invalidBody, "This field is required.", field: "title")
        }
        self.init(title: title)
        type = change.type ?? type
        status = change.status ?? status
        priority = change.priority ?? priority
        description = change.description ?? ""
        assignee = change.assignee ?? nil
        appVersion = change.appVersion ?? nil
        sprint = change.sprint ?? nil
        estimate = change.estimate ?? nil
        labels = change.labels ?? []
        self.issues = issues
    }
}

extension TicketStore {
    /// Creates a ticket at the end of its column, or on top if it is complete; returns its number.
    ///
    /// - Throws: `limit-exceeded`; `invalid-body` if the sprint, a label or an issue does not exist.
    func create(_ ticket: NewTicket, in space: Space, by author: Author) async throws -> Int {
        try await change(space, by: author) { work in try await work.create(ticket).number }
    }
}

extension TicketWork {
    func create(_ ticket: NewTicket, upTo limit: Int = TicketLimits.tickets) async throws -> (id: Int64, number: Int) {
        try await checkCount(
            "analytics.tickets WHERE space = \(space.id)", upTo: limit, "tickets, including those in the bin")
        try await checkSprint(ticket.sprint)
        let position = try await key(for: .defaultPlace(in: ticket.status), in: ticket.status, of: nil)
        // A rollback also returns the number.
        let row = try await transaction.query(
            """
            WITH n AS (UPDATE analytics.ticket_spaces SET last_number = last_number + 1 WHERE space = \(space.id) RETURNING last_number)
            INSERT INTO analytics.tickets (space, number, type, status, priority, title, description, assignee, app_version, sprint, estimate, position,
                generation, author, completed)
            SELECT \(space.id), n.last_number, \(ticket.type.rawValue), \(ticket.status.rawValue), \(ticket.priority.rawValue), \(ticket.title),
                \(ticket.description), \(ticket.assignee), \(ticket.appVersion), \(ticket.sprint), \(ticket.estimate), \(position.text), \(generation), \(author.text),
                CASE WHEN \(ticket.status == .complete) THEN now() END
            FROM n RETURNING id, number
            """)[0]
        let (id, number): (Int64, Int) = (try row.decode(0), try row.decode(1))
        try await record(.created, of: id)
        if !ticket.labels.isEmpty { _ = try await setLabels(ticket.labels, of: id) }
        if !ticket.issues.isEmpty { try await attach(issues: ticket.issues, to: id) }
        return (id, number)
    }

    /// - Throws: `invalid-body` if the sprint does not exist or is closed.
    func checkSprint(_ number: Int?) async throws {
        guard let number else { return }
        let state: String? = try await transaction.query(
            "SELECT state FROM analytics.ticket_sprints WHERE space = \(space.id) AND number = \(number)"
        ).first?.decode(0)
        guard let state else { throw ServiceError(.invalidBody, "There is no such sprint.", field: "sprint") }
        guard state != "closed" else { throw ServiceError(.invalidBody, "This sprint is closed.", field: "sprint") }
    }

    /// Replaces the labels of a ticket; returns their names as stored, sorted.
    ///
    /// - Throws: `invalid-body` if a label does not exist.
    func setLabels(_ names: [String], of id: Int64) async throws -> [String] {
        let rows = try await transaction.query(
            """
            SELECT id, name FROM analytics.ticket_labels
            WHERE space = \(space.id) AND lower(name) IN (SELECT lower(n) FROM unnest(\(names)) AS n) ORDER BY name
            """)
        guard rows.count == names.count else {
            throw ServiceError(.invalidBody, "There is no such label. Create it first.", field: "labels")
        }
        let ids: [Int] = try rows.map { try $0.decode(0) }
        try await transaction.execute(
            "DELETE FROM analytics.ticket_label_uses WHERE ticket = \(id) AND NOT label = ANY (\(ids))")
        try await transaction.execute(
            "INSERT INTO analytics.ticket_label_uses (ticket, label) SELECT \(id), l FROM unnest(\(ids)) AS l ON CONFLICT DO NOTHING"
        )
        return try rows.map { try $0.decode(1) }
    }
}
