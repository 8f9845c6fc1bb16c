import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import Synchronization

/// The settings of spaces. A change reaches all instances within seconds.
final class SettingsStore: Sendable {
    private static let lifetime: Duration = .seconds(5)
    private static let maximumKnown = 10_000

    private let postgres: PostgresClient
    private let known = Mutex<[Int32: (settings: SpaceSettings, end: ContinuousClock.Instant)]>([:])
    private let confirmations = Mutex(Confirmations<Int32>())

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// The settings, at most some seconds old. Before events are dropped because of them, they are read again: another
    /// instance may just have begun to collect.
    func settings(of space: Space) async throws -> SpaceSettings {
        if let known = known.withLock({ $0[space.id] }), known.end > ContinuousClock.now,
            known.settings.isCollecting || !confirmations.withLock({ $0.take(for: space.id) })
        {
            return known.settings
        }
        return try await stored(of: space)
    }

    /// The settings as they are stored now.
    func stored(of space: Space) async throws -> SpaceSettings {
        let row = try await postgres.query(
            "SELECT retention_days, privacy, is_collecting, time_zone FROM analytics.settings WHERE space = \(space.id)"
        ).first
        return remember(try row.map(Self.settings) ?? SpaceSettings(), of: space)
    }

    /// Applies the change and returns all settings. Does not overwrite settings that only a concurrent call changes.
    ///
    /// - Throws: `invalid-body` for a time zone that PostgreSQL does not know.
    func change(_ change: SettingsChange, of space: Space, by author: Author) async throws -> SpaceSettings {
        let new = SpaceSettings()
        // PostgreSQL also accepts POSIX rules as time zones, which are easy to get wrong.
        let rows = try await postgres.query(
            """
            INSERT INTO analytics.settings AS s (space, retention_days, privacy, is_collecting, time_zone, changed_by)
            SELECT \(space.id), coalesce(\(change.retentionDays), \(new.retentionDays)), coalesce(\(change.privacy?.rawValue), \(new.privacy.rawValue)),
                coalesce(\(change.isCollecting), \(new.isCollecting)), coalesce(\(change.timeZone), \(new.timeZone)), \(author.text)
            WHERE \(change.timeZone == nil) OR EXISTS (SELECT FROM pg_timezone_names WHERE name = \(change.timeZone))
            ON CONFLICT (space) DO UPDATE SET retention_days = coalesce(\(change.retentionDays), s.retention_days),
                privacy = coalesce(\(change.privacy?.rawValue), s.privacy), is_collecting = coalesce(\(change.isCollecting), s.is_collecting),
                time_zone = coalesce(\(change.timeZone), s.time_zone), changed = now(), changed_by = excluded.changed_by
            RETURNING retention_days, privacy, is_collecting, time_zone
            """)
        guard let row = rows.first else {
            throw ServiceError(
                .invalidBody, "Expected a time zone of the IANA database, such as Europe/Zurich.", field: "timeZone")
        }
        return remember(try Self.settings(row), of: space)
    }

    private static func settings(_ row: PostgresRow) throws -> SpaceSettings {
        SpaceSettings(
            retentionDays: try row.decode(0), privacy: SpaceSettings.Privacy(rawValue: try row.decode(1)) ?? .strict,
            isCollecting: try row.decode(2),
            timeZone: try row.decode(3))
    }

    private func remember(_ settings: SpaceSettings, of space: Space) -> SpaceSettings {
        known.withLock { known in
            if known.count >= Self.maximumKnown { known.removeAll() }
            known[space.id] = (settings, ContinuousClock.now + Self.lifetime)
        }
        return settings
    }
}
