import MartletAPI
import MartletCore
import MartletPostgres

/// The requested place of a ticket in a column.
struct TicketPlace: Sendable, Equatable {
    /// Directly after this ticket, if it is in the column.
    var after: Int?
    /// Otherwise directly before this ticket.
    var before: Int?
    /// Otherwise at the top or the bottom.
    var isAtTop: Bool

    /// The place of a ticket for which none was requested: the top among complete tickets, otherwise the bottom.
    static func defaultPlace(in status: TicketStatus) -> TicketPlace { TicketPlace(isAtTop: status == .complete) }
}

extension TicketWork {
    /// If a key would become longer, the whole column gets new keys.
    static let maximumKeyLength = 40

    /// A key for a place in a column.
    ///
    /// - Parameter id: The ticket to be placed, which counts as removed; nil for a new ticket.
    /// - Throws: `invalid-body` if a neighbour does not exist. A neighbour that has left the column is ignored.
    func key(for place: TicketPlace, in status: TicketStatus, of id: Int64?) async throws -> FractionalKey {
        if let key = try await find(place, in: status, of: id) { return key }
        try await rekey(status, except: id)
        guard let key = try await find(place, in: status, of: id) else {
            throw ServiceError(.internalError, cause: "no key fits into a column that just got new keys")
        }
        return key
    }

    /// Nil if there is no room, or the key would become too long.
    private func find(_ place: TicketPlace, in status: TicketStatus, of id: Int64?) async throws -> FractionalKey? {
        let (low, high) = try await gap(place, in: status, of: id ?? 0)
        let (lowKey, highKey) = (low.flatMap { FractionalKey($0) }, high.flatMap { FractionalKey($0) })
        // A stored position may not be a valid key.
        guard (lowKey == nil) == (low == nil), (highKey == nil) == (high == nil) else { return nil }
        guard let key = FractionalKey.between(lowKey, highKey), key.text.utf8.count <= Self.maximumKeyLength else {
            return nil
        }
        return key
    }

    private func gap(_ place: TicketPlace, in status: TicketStatus, of id: Int64) async throws -> (
        low: String?, high: String?
    ) {
        let column: PostgresQuery = """
            analytics.tickets WHERE space = \(space.id) AND status = \(status.rawValue) AND deleted IS NULL AND id <> \(id)
            """
        if let number = place.after,
            let (position, number) = try await neighbour(number, "after", in: status, except: id)
        {
            let next = try await transaction.query(
                "SELECT position FROM \(column) AND (position, number) > (\(position), \(number)) ORDER BY position, number LIMIT 1"
            )
            return (position, try next.first?.decode(0))
        }
        if let number = place.before,
            let (position, number) = try await neighbour(number, "before", in: status, except: id)
        {
            let previous = try await transaction.query(
                "SELECT position FROM \(column) AND (position, number) < (\(position), \(number)) ORDER BY position DESC, number DESC LIMIT 1"
            )
            return (try previous.first?.decode(0), position)
        }
        if place.isAtTop {
            return (
                nil,
                try await transaction.query("SELECT position FROM \(column) ORDER BY position, number LIMIT 1").first?
                    .decode(0)
            )
        }
        return (
            try await transaction.query("SELECT position FROM \(column) ORDER BY position DESC, number DESC LIMIT 1")
                .first?.decode(0), nil
        )
    }

    /// The position of a neighbour; nil if it has left the column.
    private func neighbour(_ number: Int, _ field: String, in status: TicketStatus, except id: Int64) async throws -> (
        String, Int
    )? {
        guard let row = try await row(number) else {
            throw ServiceError(.invalidBody, "There is no such ticket.", field: field)
        }
        guard row.id != id else {
            throw ServiceError(.invalidBody, "A ticket cannot be its own neighbour.", field: field)
        }
        return row.status == status && !row.isDeleted ? (row.position, row.number) : nil
    }

    /// Gives all tickets of a column new keys. Keeps their order, with equal keys ordered by number.
    private func rekey(_ status: TicketStatus, except id: Int64?) async throws {
        let ids: [Int] = try await transaction.query(
            """
            SELECT id FROM analytics.tickets WHERE space = \(space.id) AND status = \(status.rawValue) AND deleted IS NULL AND id <> \(id ?? 0)
            ORDER BY position, number
            """
        ).map { try $0.decode(0) }
        try await transaction.execute(
            """
            UPDATE analytics.tickets AS t SET position = k.position, generation = \(generation)
            FROM unnest(\(ids), \(FractionalKey.keys(count: ids.count).map(\.text))) AS k (id, position) WHERE t.id = k.id
            """)
    }
}
