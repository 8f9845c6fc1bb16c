import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// The settings of apps, cached for a few seconds: a change by another instance is visible after at most `lifetime`.
final class AppSettingsStore: Sendable {
    static let lifetime: Duration = .seconds(5)
    private static let maximumCached = 1_000

    /// The values needed at nearly every sign-in, read in one query.
    struct Current: Sendable {
        var settings: AppSettings
        /// Whether the app has its own mail server.
        var hasMailServer: Bool
    }

    private let postgres: PostgresClient
    private let cache = Mutex<[AppSpace: (current: Current, until: ContinuousClock.Instant)]>([:])
    private let confirmations = Mutex(Confirmations<AppSpace>())

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    func current(in space: AppSpace) async throws -> Current {
        let now = ContinuousClock.now
        if let cached = cache.withLock({ $0[space] }), cached.until > now { return cached.current }
        let current = try await read(in: space)
        cache.withLock { cache in
            if cache.count >= Self.maximumCached { cache.removeAll() }
            cache[space] = (current, now + Self.lifetime)
        }
        return current
    }

    /// The settings, if they pass a check. Cached settings that do not are read again first, because another instance
    /// may just have changed them.
    ///
    /// - Throws: The errors of `check`.
    func current(in space: AppSpace, passing check: (AppSettings) throws -> Void) async throws -> AppSettings {
        let known = try await current(in: space).settings
        do {
            try check(known)
            return known
        } catch {
            guard let stored = try await readAgain(in: space)?.settings else { throw error }
            try check(stored)
            return stored
        }
    }

    /// Whether the app has its own mail server. Read again before the answer is no.
    func hasMailServer(in space: AppSpace) async throws -> Bool {
        if try await current(in: space).hasMailServer { return true }
        return try await readAgain(in: space)?.hasMailServer ?? false
    }

    /// Reads the settings without changing the cache; nil if the space has been read too often.
    private func readAgain(in space: AppSpace) async throws -> Current? {
        guard confirmations.withLock({ $0.take(for: space) }) else { return nil }
        return try await read(in: space)
    }

    private func read(in space: AppSpace) async throws -> Current {
        let row = try await postgres.query(
            """
            SELECT (SELECT settings FROM auth.settings WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)),
                EXISTS (
                    SELECT FROM auth.mail_senders
                    WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue) AND sealed_server IS NOT NULL)
            """)[0]
        let json: PostgresJSON? = try row.decode(0)
        let settings = try json.map { try JSONDecoder().decode(AppSettings.self, from: Data($0.bytes)) }
        return Current(settings: settings ?? AppSettings(), hasMailServer: try row.decode(1))
    }

    func replace(_ settings: AppSettings, in space: AppSpace) async throws {
        let json = PostgresJSON(Array(try JSONEncoder().encode(settings)))
        try await postgres.execute(
            """
            INSERT INTO auth.settings (app_id, environment, settings) VALUES (\(space.appID), \(space.environment.rawValue), \(json))
            ON CONFLICT (app_id, environment) DO UPDATE SET settings = excluded.settings, updated = now()
            """)
        forget(space)
    }

    /// Drops the cached settings after a change, so that the next read goes to the database.
    func forget(_ space: AppSpace) {
        _ = cache.withLock { $0.removeValue(forKey: space) }
    }
}
