import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

extension TicketStore {
    /// Changes fields of a ticket. If the status changes, the ticket moves to the end of the new column, or to the top
    /// among complete tickets.
    ///
    /// - Parameter resolvesIssues: Whether to mark the ticket's crash issues as resolved. The ticket must then be
    ///   complete.
    /// - Throws: `ticket-not-found`, `precondition-failed`; `invalid-body` if the sprint or a label does not exist.
    func update(
        _ number: Int, _ change: TicketChange, if condition: Precondition?, resolvesIssues: Bool = false,
        in space: Space, by author: Author
    ) async throws {
        try await self.change(space, by: author) { work in
            try await work.update(number, change, if: condition, resolvesIssues: resolvesIssues)
        }
    }

    /// Applies the same change to several tickets in the given order. Atomic.
    ///
    /// - Throws: as `update(_:_:if:resolvesIssues:in:by:)`; `invalid-body` if a ticket does not exist.
    func update(_ numbers: [Int], _ change: TicketChange, resolvesIssues: Bool, in space: Space, by author: Author)
        async throws
    {
        try await self.change(space, by: author) { work in
            for number in numbers {
                do {
                    try await work.update(number, change, if: nil, resolvesIssues: resolvesIssues)
                } catch let problem as ServiceError where problem.code == .ticketNotFound {
                    throw ServiceError(.invalidBody, "There is no ticket \(number).", field: "tickets")
                }
            }
        }
    }

    /// Moves a ticket to a place in a column. Other tickets keep their places.
    ///
    /// - Returns: The generation at which the ticket has its new place.
    /// - Throws: `ticket-not-found`, `precondition-failed`; `invalid-body` if a neighbour does not exist.
    @discardableResult
    func move(
        _ number: Int, to status: TicketStatus?, _ place: TicketPlace, if condition: Precondition? = nil,
        resolvesIssues: Bool = false,
        in space: Space, by author: Author
    ) async throws -> Int64 {
        try await change(space, by: author) { work in
            var row = try await work.ticket(number)
            try row.check(condition)
            var change = TicketChange()
            change.status = status
            let changes = row.apply(change, labels: nil)
            row.position = try await work.key(for: place, in: row.status, of: row.id).text
            try await work.write(row, changes)
            if resolvesIssues { try await work.resolve(row) }
            return work.generation
        }
    }

    /// Moves a ticket to the bin.
    ///
    /// - Throws: `ticket-not-found`, `precondition-failed`.
    func delete(_ number: Int, if condition: Precondition?, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let row = try await work.ticket(number)
            try row.check(condition)
            try await work.transaction.execute(
                """
                UPDATE analytics.tickets SET deleted = now(), updated = clock_timestamp(), revision = revision + 1, generation = \(work.generation)
                WHERE id = \(row.id)
                """)
            try await work.record(.deleted, of: row.id)
            try await work.touchBlocked(by: row.id)
        }
    }

    /// Restores a ticket from the bin, at the end of its column.
    ///
    /// - Throws: `ticket-not-found` if the bin has no such ticket.
    func restore(_ number: Int, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            guard let row = try await work.row(number), row.isDeleted else { throw ServiceError(.ticketNotFound) }
            let position = try await work.key(for: .defaultPlace(in: row.status), in: row.status, of: row.id)
            try await work.transaction.execute(
                """
                UPDATE analytics.tickets SET deleted = NULL, updated = clock_timestamp(), revision = revision + 1, generation = \(work.generation),
                    position = \(position.text)
                WHERE id = \(row.id)
                """)
            try await work.record(.restored, of: row.id)
            try await work.touchBlocked(by: row.id)
        }
    }
}

extension TicketRow {
    /// - Throws: `precondition-failed`.
    func check(_ condition: Precondition?) throws {
        guard condition?.tags?.contains(String(revision)) ?? true else {
            throw ServiceError(.preconditionFailed, "The ticket has revision \(revision) now.")
        }
    }
}

extension TicketWork {
    fileprivate func update(_ number: Int, _ change: TicketChange, if condition: Precondition?, resolvesIssues: Bool)
        async throws
    {
        var row = try await ticket(number)
        try row.check(condition)
        if change.sprint != .some(row.sprint), let sprint = change.sprint { try await checkSprint(sprint) }
        let labels: [String]? = if let names = change.labels { try await setLabels(names, of: row.id) } else { nil }
        let changes = row.apply(change, labels: labels)
        if changes.contains(where: { $0.field == "status" }) {
            row.position = try await key(for: .defaultPlace(in: row.status), in: row.status, of: row.id).text
        }
        try await write(row, changes)
        if resolvesIssues { try await resolve(row) }
    }

    /// Stores a row and records its changes in the history. Only recorded changes make a new revision, so moving a
    /// ticket within its column does not conflict with an edit.
    func write(_ row: TicketRow, _ changes: [TicketFieldChange]) async throws {
        try await transaction.execute(
            """
            UPDATE analytics.tickets SET type = \(row.type.rawValue), status = \(row.status.rawValue), priority = \(row.priority.rawValue),
                title = \(row.title), description = \(row.description), assignee = \(row.assignee), app_version = \(row.appVersion),
                sprint = \(row.sprint), estimate = \(row.estimate), position = \(row.position), generation = \(generation), updated = clock_timestamp(),
                revision = revision + \(changes.isEmpty ? 0 : 1),
                completed = CASE WHEN \(row.status == .complete) THEN coalesce(completed, now()) END
            WHERE id = \(row.id)
            """)
        for change in changes {
            try await record(.changed, of: row.id, field: change.field, before: change.before, after: change.after)
        }
        if changes.contains(where: { $0.field == "status" }) { try await touchBlocked(by: row.id) }
    }

    /// Marks the crash issues of a complete ticket as resolved.
    ///
    /// - Throws: `invalid-body` if the ticket is not complete.
    func resolve(_ row: TicketRow) async throws {
        guard row.status == .complete else {
            throw ServiceError(
                .invalidBody, "Only a complete ticket can resolve its issues.", field: "resolveIssues")
        }
        let rows = try await transaction.query(
            "SELECT i.id, i.number FROM analytics.ticket_issues AS a JOIN analytics.issues AS i ON i.id = a.issue WHERE a.ticket = \(row.id) ORDER BY i.id"
        )
        guard !rows.isEmpty else { return }
        try await resolveIssues(try rows.map { try $0.decode(0) }, row.appVersion, author, space, transaction)
        let numbers: [Int] = try rows.map { try $0.decode(1) }
        try await record(.issuesResolved, of: row.id, after: .array(numbers.map { .number(String($0)) }))
    }
}
