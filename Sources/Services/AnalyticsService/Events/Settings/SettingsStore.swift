import MartletAPI
import MartletHTTP
import MartletPostgres
import Synchronization

/// The settings of spaces. What one copy changes the others know within seconds.
final class SettingsStore: Sendable {
    private static let lifetime: Duration = .seconds(5)
    private static let maximumKnown = 10_000

    private let postgres: PostgresClient
    private let known = Mutex<[Int32: (settings: SpaceSettings, end: ContinuousClock.Instant)]>([:])

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    func settings(of space: Space) async throws -> SpaceSettings {
        if let known = known.withLock({ $0[space.id] }), known.end > ContinuousClock.now { return known.settings }
        let rows = try await postgres.query(
            "SELECT retention_days, privacy, is_collecting, time_zone FROM analytics.settings WHERE space = \(space.id)")
        var settings = SpaceSettings()
        if let row = rows.first {
            settings.retentionDays = try row.decode(0)
            settings.privacy = SpaceSettings.Privacy(rawValue: try row.decode(1)) ?? .strict
            settings.isCollecting = try row.decode(2)
            settings.timeZone = try row.decode(3)
        }
        remember(settings, of: space)
        return settings
    }

    /// - Throws: `invalid-body` for a time zone that PostgreSQL does not know.
    func set(_ settings: SpaceSettings, of space: Space, by author: Author) async throws {
        // PostgreSQL would also take a POSIX rule for a zone, in which few people say what they mean.
        let rows = try await postgres.query(
            """
            INSERT INTO analytics.settings AS s (space, retention_days, privacy, is_collecting, time_zone, changed_by)
            SELECT \(space.id), \(settings.retentionDays), \(settings.privacy.rawValue), \(settings.isCollecting), \(settings.timeZone), \(author.text)
            WHERE EXISTS (SELECT FROM pg_timezone_names WHERE name = \(settings.timeZone))
            ON CONFLICT (space) DO UPDATE SET retention_days = excluded.retention_days, privacy = excluded.privacy,
                is_collecting = excluded.is_collecting, time_zone = excluded.time_zone, changed = now(), changed_by = excluded.changed_by
            RETURNING 1
            """)
        guard !rows.isEmpty else { throw HTTPProblem(.invalidBody, "This is no time zone of the IANA's database, such as Europe/Zurich.", field: "timeZone") }
        remember(settings, of: space)
    }

    private func remember(_ settings: SpaceSettings, of space: Space) {
        known.withLock { known in
            if known.count >= Self.maximumKnown { known.removeAll() }
            known[space.id] = (settings, ContinuousClock.now + Self.lifetime)
        }
    }
}
