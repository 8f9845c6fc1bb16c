import MartletHTTP
import MartletPostgres

/// How long a space keeps reports, if shorter than `crashes.retention.days`, which applies to all spaces.
struct SpaceRetention: Sendable {
    static let days = 1...3_650

    let postgres: PostgresClient
    let removal: IssueRemoval

    /// The retention period in days; nil means the server's.
    func read(in space: Space) async throws -> Int? {
        try await postgres.query("SELECT retention_days FROM analytics.crash_settings WHERE space = \(space.id)").first?
            .decode(0)
    }

    /// - Parameter days: The retention period; nil means the server's.
    func set(_ days: Int?, by author: Author, in space: Space) async throws {
        guard let days else {
            try await postgres.execute("DELETE FROM analytics.crash_settings WHERE space = \(space.id)")
            return
        }
        try await postgres.execute(
            """
            INSERT INTO analytics.crash_settings (space, retention_days, author) VALUES (\(space.id), \(Int32(days)), \(author.text))
            ON CONFLICT (space) DO UPDATE SET retention_days = excluded.retention_days, author = excluded.author, changed = now()
            """)
    }

    /// Deletes expired reports, one batch per space, and returns their number. Counts stay.
    func prune() async throws -> Int {
        var count = 0
        for row in try await postgres.query("SELECT space, retention_days FROM analytics.crash_settings ORDER BY space")
        {
            let (space, days) = (try row.decode(0, as: Int32.self), try row.decode(1, as: Int32.self))
            count += try await removal.removeReports(
                where: "e.space = \(space) AND e.received < now() - make_interval(days => \(days))")
        }
        return count
    }
}
