import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

extension TicketStore {
    /// Adds a comment at the end; returns it as JSON.
    ///
    /// - Throws: `ticket-not-found`, `limit-exceeded`.
    func comment(_ text: String, on number: Int, in space: Space, by author: Author) async throws -> String {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            try await work.checkCount(
                "analytics.ticket_comments WHERE ticket = \(id)", upTo: TicketLimits.commentsOfTicket,
                "comments per ticket")
            let row = try await work.transaction.query(
                """
                WITH n AS (
                    UPDATE analytics.tickets SET last_comment = last_comment + 1, updated = clock_timestamp(), generation = \(work.generation)
                    WHERE id = \(id) RETURNING last_comment)
                INSERT INTO analytics.ticket_comments AS c (ticket, number, author, text) SELECT \(id), n.last_comment, \(author.text), \(text) FROM n
                RETURNING c.number, \(Self.commentJSON)
                """)[0]
            try await work.record(.commented, of: id, after: .number(String(try row.decode(0, as: Int.self))))
            return try row.decode(1)
        }
    }

    /// Edits a comment. Only its author may.
    ///
    /// - Throws: `ticket-not-found`, `comment-not-found`, `forbidden`.
    func editComment(_ comment: Int, _ text: String, on number: Int, in space: Space, by author: Author) async throws
        -> String
    {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            guard try await work.author(ofComment: comment, id) == author.text else {
                throw ServiceError(.forbidden, "Only the author of a comment may change it.")
            }
            let row = try await work.transaction.query(
                """
                UPDATE analytics.ticket_comments AS c SET text = \(text), edited = clock_timestamp() WHERE ticket = \(id) AND number = \(comment)
                RETURNING \(Self.commentJSON)
                """)[0]
            try await work.record(.commentEdited, of: id, after: .number(String(comment)))
            try await work.touch(id)
            return try row.decode(0)
        }
    }

    /// Deletes a comment.
    ///
    /// - Parameter isModerator: Whether the caller may delete the comments of others.
    /// - Throws: `ticket-not-found`, `comment-not-found`, `forbidden`.
    func deleteComment(_ comment: Int, on number: Int, isModerator: Bool, in space: Space, by author: Author)
        async throws
    {
        try await change(space, by: author) { work in
            let id = try await work.ticket(number).id
            guard try await work.author(ofComment: comment, id) == author.text || isModerator else {
                throw ServiceError(
                    .forbidden, "Only the author of a comment, or someone who may delete tickets, may delete it.")
            }
            try await work.transaction.execute(
                "DELETE FROM analytics.ticket_comments WHERE ticket = \(id) AND number = \(comment)")
            try await work.record(.commentDeleted, of: id, before: .number(String(comment)))
            try await work.touch(id)
        }
    }

    /// Comments in order, starting after the number `after`.
    ///
    /// - Throws: `ticket-not-found`.
    func comments(on number: Int, after: Int, limit: Int, in space: Space) async throws -> [(number: Int, json: String)]
    {
        let id = try await id(of: number, in: space)
        return try await postgres.query(
            "SELECT c.number, \(Self.commentJSON) FROM analytics.ticket_comments AS c WHERE c.ticket = \(id) AND c.number > \(after) ORDER BY c.number LIMIT \(limit)"
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// The history of a ticket, starting after the entry `after`.
    ///
    /// - Throws: `ticket-not-found`.
    func history(of number: Int, after: Int, limit: Int, in space: Space) async throws -> [(number: Int, json: String)]
    {
        let id = try await id(of: number, in: space)
        return try await postgres.query(
            """
            SELECT h.id, jsonb_build_object(
                'id', h.id, 'at', \(PostgresQuery.rfc3339("h.at")), 'by', h.author, 'act', h.act, 'field', h.field, 'before', h.before, 'after', h.after)::text
            FROM analytics.ticket_history AS h WHERE h.ticket = \(id) AND h.id > \(after) ORDER BY h.id LIMIT \(limit)
            """
        ).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// The id of a ticket that is not in the bin.
    ///
    /// - Throws: `ticket-not-found`.
    func id(of number: Int, in space: Space) async throws -> Int64 {
        let rows = try await postgres.query(
            "SELECT id FROM analytics.tickets WHERE space = \(space.id) AND number = \(number) AND deleted IS NULL")
        guard let row = rows.first else { throw ServiceError(.ticketNotFound) }
        return try row.decode(0)
    }

    /// The JSON of a row `c`.
    private static let commentJSON: PostgresQuery = """
        jsonb_build_object('number', c.number, 'text', c.text, 'by', c.author, 'created', \(PostgresQuery.rfc3339("c.created")),
            'edited', \(PostgresQuery.rfc3339("c.edited")))::text
        """
}

extension TicketWork {
    /// - Throws: `comment-not-found`.
    fileprivate func author(ofComment number: Int, _ id: Int64) async throws -> String {
        let rows = try await transaction.query(
            "SELECT author FROM analytics.ticket_comments WHERE ticket = \(id) AND number = \(number)")
        guard let row = rows.first else { throw ServiceError(.commentNotFound) }
        return try row.decode(0)
    }
}
