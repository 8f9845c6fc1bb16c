import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

extension TicketStore {
    /// Links two tickets and records that in both histories. Idempotent: a link that already exists stays.
    ///
    /// - Throws: `ticket-not-found`, `limit-exceeded`; `invalid-body` if the other ticket does not exist or is the
    ///   ticket itself; `conflict` if tickets would block or duplicate each other in a cycle.
    func link(_ number: Int, _ kind: TicketLinkKind, to other: Int, in space: Space, by author: Author) async throws {
        try await change(space, by: author) { work in
            let ticket = try await work.ticket(number)
            guard let target = try await work.row(other), !target.isDeleted else {
                throw ServiceError(.invalidBody, "There is no such ticket.", field: "ticket")
            }
            guard ticket.id != target.id else {
                throw ServiceError(.invalidBody, "A ticket cannot be linked to itself.", field: "ticket")
            }
            let ends = Self.ends(ticket.id, kind, target.id)
            if kind != .relates, try await work.hasPath(from: ends.target, to: ends.source, by: ends.kind) {
                throw ServiceError(.conflict, "The link would close a cycle.")
            }
            let added = try await work.transaction.execute(
                """
                INSERT INTO analytics.ticket_links (source, kind, target, author) VALUES (\(ends.source), \(ends.kind), \(ends.target), \(author.text))
                ON CONFLICT DO NOTHING
                """)
            guard added > 0 else { return }
            for id in [ticket.id, target.id] {
                try await work.checkCount(
                    "analytics.ticket_links WHERE source = \(id) OR target = \(id)", upTo: TicketLimits.linksOfTicket,
                    "links per ticket", areAdded: true)
            }
            try await work.recordLink(.linked, ticket, kind, target)
        }
    }

    /// - Throws: `ticket-not-found`; `not-found` if there is no such link.
    func unlink(_ number: Int, _ kind: TicketLinkKind, from other: Int, in space: Space, by author: Author) async throws
    {
        try await change(space, by: author) { work in
            let ticket = try await work.ticket(number)
            guard let target = try await work.row(other) else {
                throw ServiceError(.notFound, "There is no such link.")
            }
            let ends = Self.ends(ticket.id, kind, target.id)
            let removed = try await work.transaction.execute(
                "DELETE FROM analytics.ticket_links WHERE source = \(ends.source) AND kind = \(ends.kind) AND target = \(ends.target)"
            )
            guard removed > 0 else { throw ServiceError(.notFound, "There is no such link.") }
            try await work.recordLink(.unlinked, ticket, kind, target)
        }
    }

    private static func ends(_ id: Int64, _ kind: TicketLinkKind, _ other: Int64) -> (
        source: Int64, kind: String, target: Int64
    ) {
        let (stored, isSource) = kind.stored
        if kind == .relates { return (min(id, other), stored, max(id, other)) }
        return isSource ? (id, stored, other) : (other, stored, id)
    }
}

extension TicketWork {
    /// Whether a path of links of one kind leads from one ticket to another.
    fileprivate func hasPath(from start: Int64, to end: Int64, by kind: String) async throws -> Bool {
        try await transaction.query(
            """
            WITH RECURSIVE reached (id) AS (
                SELECT \(start)
                UNION
                SELECT l.target FROM reached JOIN analytics.ticket_links AS l ON l.source = reached.id AND l.kind = \(kind))
            SELECT EXISTS (SELECT FROM reached WHERE id = \(end))
            """)[0].decode(0)
    }

    fileprivate func recordLink(
        _ activity: TicketActivity, _ ticket: TicketRow, _ kind: TicketLinkKind, _ other: TicketRow
    )
        async throws
    {
        for (id, kind, number) in [(ticket.id, kind, other.number), (other.id, kind.inverse, ticket.number)] {
            let value = JSONValue.object([
                .init("kind", .string(kind.rawValue)), .init("ticket", .number(String(number))),
            ])
            try await record(
                activity, of: id, before: activity == .unlinked ? value : nil, after: activity == .linked ? value : nil)
            try await touch(id)
        }
    }
}

extension TicketLinkKind {
    var inverse: TicketLinkKind {
        switch self {
        case .blocks: .blockedBy
        case .blockedBy: .blocks
        case .duplicates: .duplicatedBy
        case .duplicatedBy: .duplicates
        case .relates: .relates
        }
    }
}
