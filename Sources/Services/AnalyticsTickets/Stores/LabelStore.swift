import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The labels of a space. Names are case-insensitive.
struct LabelStore: Sendable {
    let tickets: TicketStore

    /// - Throws: `limit-exceeded`; `conflict` if the name is taken.
    func create(_ name: String, color: String, in space: Space, by author: Author) async throws -> String {
        try await tickets.change(space, by: author) { work in
            try await work.checkCount(
                "analytics.ticket_labels WHERE space = \(space.id)", upTo: TicketLimits.labels, "labels")
            return try await Self.checkingName {
                try await work.transaction.query(
                    "INSERT INTO analytics.ticket_labels AS l (space, name, color) VALUES (\(space.id), \(name), \(color)) RETURNING \(Self.json)"
                )[0].decode(0)
            }
        }
    }

    /// Renames or recolors a label, on its tickets as well; nil leaves a property as it is.
    ///
    /// - Throws: `label-not-found`; `conflict` if the name is taken.
    func update(_ label: String, name: String?, color: String?, in space: Space, by author: Author) async throws
        -> String
    {
        try await tickets.change(space, by: author) { work in
            let id = try await Self.id(of: label, work)
            // Tickets store the names of labels, but not their colors.
            try await work.transaction.execute(
                """
                UPDATE analytics.tickets SET generation = \(work.generation), revision = revision + 1
                WHERE id IN (SELECT u.ticket FROM analytics.ticket_label_uses AS u JOIN analytics.ticket_labels AS l ON l.id = u.label
                    WHERE l.id = \(id) AND l.name <> \(name))
                """)
            return try await Self.checkingName {
                try await work.transaction.query(
                    """
                    UPDATE analytics.ticket_labels AS l SET name = coalesce(\(name), name), color = coalesce(\(color), color) WHERE id = \(id)
                    RETURNING \(Self.json)
                    """)[0].decode(0)
            }
        }
    }

    /// Deletes a label and removes it from all tickets, which record that in their histories.
    ///
    /// - Throws: `label-not-found`.
    func delete(_ label: String, in space: Space, by author: Author) async throws {
        try await tickets.change(space, by: author) { work in
            let id = try await Self.id(of: label, work)
            try await work.transaction.execute(
                """
                WITH used AS (
                    UPDATE analytics.tickets SET generation = \(work.generation), revision = revision + 1, updated = clock_timestamp()
                    WHERE id IN (SELECT ticket FROM analytics.ticket_label_uses WHERE label = \(id)) RETURNING id)
                INSERT INTO analytics.ticket_history (ticket, author, act, field, before)
                SELECT used.id, \(author.text), \(TicketActivity.changed.rawValue), 'label', to_jsonb(l.name)
                FROM used, analytics.ticket_labels AS l WHERE l.id = \(id)
                """)
            try await work.transaction.execute("DELETE FROM analytics.ticket_labels WHERE id = \(id)")
        }
    }

    /// Sorted by name.
    func list(in space: Space) async throws -> [String] {
        try await tickets.postgres.query(
            "SELECT \(Self.json) FROM analytics.ticket_labels AS l WHERE l.space = \(space.id) ORDER BY lower(l.name)"
        )
        .map { try $0.decode(0) }
    }

    private static func id(of label: String, _ work: TicketWork) async throws -> Int {
        let rows = try await work.transaction.query(
            "SELECT id FROM analytics.ticket_labels WHERE space = \(work.space.id) AND lower(name) = lower(\(label))")
        guard let row = rows.first else { throw ServiceError(.labelNotFound) }
        return try row.decode(0)
    }

    private static func checkingName(_ body: () async throws -> String) async throws -> String {
        do {
            return try await body()
        } catch let error as PostgresError where error.isUniqueViolation {
            throw ServiceError(.conflict, "There already is a label with this name.")
        }
    }

    /// The JSON of a row `l`.
    private static let json: PostgresQuery = """
        jsonb_build_object('name', l.name, 'color', l.color, 'tickets', (
            SELECT count(*) FROM analytics.ticket_label_uses AS u JOIN analytics.tickets AS t ON t.id = u.ticket AND t.deleted IS NULL
            WHERE u.label = l.id))::text
        """
}
