import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The saved questions of spaces.
struct SavedQuestionStore: Sendable {
    let postgres: PostgresClient

    /// Sorted by name.
    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            "SELECT \(Self.json) FROM analytics.questions AS q WHERE space = \(space.id) ORDER BY lower(name), name"
        ).map { try $0.decode(0) }
    }

    /// Nil if there is none with this name.
    func read(_ name: String, in space: Space) async throws -> String? {
        try await postgres.query(
            "SELECT \(Self.json) FROM analytics.questions AS q WHERE space = \(space.id) AND name = \(name)"
        ).first?.decode(0)
    }

    /// Creates or replaces a question. Calls for one space take turns, so that each counts the questions before it.
    ///
    /// - Throws: `limit-exceeded` beyond `SavedQuestion.maximumPerSpace`.
    func save(_ question: SavedQuestion, as name: String, in space: Space, by author: Author) async throws -> String {
        let rows = try await postgres.withTransaction { transaction in
            // A separate statement that waits for the lock. The next statement, which counts, then gets a snapshot from
            // after the wait.
            try await transaction.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(\("martlet.analytics.questions \(space.id)"), 0))")
            return try await transaction.query(
                """
                INSERT INTO analytics.questions AS q (space, name, question, on_overview, created_by, updated_by)
                SELECT \(space.id), \(name), \(PostgresJSON(question.json.text)), \(question.isOnOverview), \(author.text), \(author.text)
                WHERE EXISTS (SELECT FROM analytics.questions WHERE space = \(space.id) AND name = \(name))
                    OR (SELECT count(*) FROM analytics.questions WHERE space = \(space.id)) < \(SavedQuestion.maximumPerSpace)
                ON CONFLICT (space, name) DO UPDATE SET question = excluded.question, on_overview = excluded.on_overview,
                    updated = now(), updated_by = excluded.updated_by
                RETURNING \(Self.json)
                """)
        }
        guard let row = rows.first else {
            throw ServiceError(
                .limitExceeded, "An app may have \(SavedQuestion.maximumPerSpace) saved questions. Delete some.")
        }
        return try row.decode(0)
    }

    /// Returns false if there is none with this name.
    func delete(_ name: String, in space: Space) async throws -> Bool {
        try await postgres.execute("DELETE FROM analytics.questions WHERE space = \(space.id) AND name = \(name)") > 0
    }

    /// The JSON of the row `q`.
    private static let json: PostgresQuery = """
        (q.question || jsonb_build_object(
            'name', q.name, 'isOnOverview', q.on_overview,
            'created', \(PostgresQuery.rfc3339("q.created")), 'createdBy', q.created_by,
            'updated', \(PostgresQuery.rfc3339("q.updated")), 'updatedBy', q.updated_by))::text
        """
}
