import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import Synchronization

/// An app's environment by its number in `analytics.spaces`: what everything in this service belongs to.
struct Space: Sendable, Hashable {
    let id: Int32
    let appID: String
    let environment: AppEnvironment
}

/// The numbers of spaces, given out when an app first sends or asks something, and remembered: they never change.
final class Spaces: Sendable {
    private struct Key: Hashable {
        var appID: String
        var environment: AppEnvironment
    }

    private let postgres: PostgresClient
    private let known = Mutex<[Key: Space]>([:])

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// - Throws: `app-not-found` for who names no app; `PostgresError`.
    func space(of principal: Principal) async throws -> Space {
        guard !principal.appID.isEmpty else { throw HTTPProblem(.appNotFound) }
        return try await space(of: principal.appID, principal.environment)
    }

    func space(of appID: String, _ environment: AppEnvironment) async throws -> Space {
        let key = Key(appID: appID, environment: environment)
        if let space = known.withLock({ $0[key] }) { return space }
        let rows = try await postgres.query(
            """
            WITH made AS (
                INSERT INTO analytics.spaces (app_id, environment) VALUES (\(appID), \(environment.rawValue))
                ON CONFLICT DO NOTHING RETURNING id)
            SELECT id FROM made UNION ALL
            SELECT id FROM analytics.spaces WHERE app_id = \(appID) AND environment = \(environment.rawValue) LIMIT 1
            """)
        // Another copy made it between the two halves of the statement: now it is there.
        guard let id = try rows.first?.decode(0, as: Int32.self) else { return try await space(of: appID, environment) }
        let space = Space(id: id, appID: appID, environment: environment)
        known.withLock { $0[key] = space }
        return space
    }
}
