import MartletPostgres

extension RollUpStore {
    private static let rowsPerStatement = 100_000

    /// Deletes roll-ups older than the space's retention, sessions that late events can no longer change, and persons
    /// without any other data.
    func prune() async throws {
        while try await pruneSessions() == Self.rowsPerStatement {}
        let old: PostgresQuery =
            "floor(extract(epoch FROM now()) / 86400)::int - coalesce((SELECT retention_days FROM analytics.settings AS g WHERE g.space = s.id), 395)"
        let slots: [(PostgresQuery, PostgresQuery)] = [
            ("analytics.hours", "t.hour / 24"), ("analytics.days", "t.day"),
            ("analytics.people_sets", "CASE WHEN t.dimension = 100 THEN t.slot / 24 ELSE t.slot END"),
            ("analytics.session_quarters", "t.quarter / 96"),
        ]
        for (table, slot) in slots {
            try await postgres.execute(
                "DELETE FROM \(table) AS t USING analytics.spaces AS s WHERE t.space = s.id AND \(slot) < \(old)",
                timeout: Self.timeout)
        }
        try await prunePersons()
    }

    private func pruneSessions() async throws -> Int {
        try await postgres.execute(
            """
            DELETE FROM analytics.sessions WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM analytics.sessions WHERE ended < now() - make_interval(days => \(Self.openSessionDays)::int) LIMIT \(Self.rowsPerStatement)))
            """, timeout: Self.timeout)
    }

    /// Deletes persons in whole chunks of bits, once no person of a chunk was seen in the hours that are kept. This
    /// limits the number of persons, because visitors without an id are new persons every day. A person who returns
    /// later counts as new. Does nothing while an instance rolls up events.
    private func prunePersons() async throws {
        try await postgres.withTransaction { transaction in
            guard try await !transaction.query("SELECT FROM analytics.rollups FOR UPDATE SKIP LOCKED").isEmpty else {
                return
            }
            try await transaction.execute(
                """
                WITH kept AS MATERIALIZED (SELECT DISTINCT space, chunk FROM analytics.people_sets WHERE dimension = 100)
                DELETE FROM analytics.person_starts AS s WHERE NOT EXISTS (SELECT FROM kept WHERE kept.space = s.space AND kept.chunk = s.number >> 14)
                """, timeout: Self.timeout)
            for table in ["analytics.person_numbers", "analytics.sessions"] as [PostgresQuery] {
                try await transaction.execute(
                    """
                    DELETE FROM \(table) AS n WHERE NOT EXISTS (
                        SELECT FROM analytics.person_starts AS s WHERE s.space = n.space AND s.number = n.number)
                    """, timeout: Self.timeout)
            }
        }
    }
}
