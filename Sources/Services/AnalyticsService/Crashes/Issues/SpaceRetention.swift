import MartletHTTP
import MartletPostgres

/// How long reports of a space are kept, where that is shorter than `crashes.retention.days`, which holds for all.
struct SpaceRetention: Sendable {
    static let days = 1...3_650

    let postgres: PostgresClient
    let removal: IssueRemoval

    /// Nil: as long as the server does.
    func read(in space: Space) async throws -> Int? {
        try await postgres.query("SELECT retention_days FROM analytics.crash_settings WHERE space = \(space.id)").first?.decode(0)
    }

    /// - Parameter days: nil: as long as the server does.
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

    /// Removes reports that are too old, a slice of each space; returns how many. What was counted stays.
    func prune() async throws -> Int {
        var count = 0
        for row in try await postgres.query("SELECT space, retention_days FROM analytics.crash_settings ORDER BY space") {
            let (space, days) = (try row.decode(0, as: Int32.self), try row.decode(1, as: Int32.self))
            count += try await removal.removeReports(where: "e.space = \(space) AND e.received < now() - make_interval(days => \(days))")
        }
        return count
    }
}
