public import MartletAPI
public import MartletCore
import Synchronization

/// An app's environment, identified by its number in a service's table `spaces`. All data of the service belongs to a
/// space.
public struct Space: Sendable, Hashable {
    public let id: Int32
    public let appID: String
    public let environment: AppEnvironment

    public init(id: Int32, appID: String, environment: AppEnvironment) {
        self.id = id
        self.appID = appID
        self.environment = environment
    }
}

/// Assigns numbers to spaces on first use and caches them; they never change.
///
/// The table is `<schema>.spaces` with `id` (an identity column), `app_id` and `environment`. The latter two are unique
/// together.
public final class Spaces: Sendable {
    private let postgres: PostgresClient
    private let table: PostgresIdentifier
    private let known = Mutex(Known())

    private struct Known {
        var byName: [AppSpace: Space] = [:]
        var byID: [Int32: Space] = [:]

        mutating func keep(_ space: Space) {
            byName[AppSpace(appID: space.appID, environment: space.environment)] = space
            byID[space.id] = space
        }
    }

    /// - Parameter schema: The schema of the service.
    public init(postgres: PostgresClient, schema: String) {
        self.postgres = postgres
        guard let table = PostgresIdentifier(schema: schema, name: "spaces") else {
            preconditionFailure("not a schema: \(schema)")
        }
        self.table = table
    }

    /// Returns the space of an app's environment, creating it if needed.
    ///
    /// - Throws: `PostgresError`.
    public func space(of appID: String, _ environment: AppEnvironment) async throws -> Space {
        let key = AppSpace(appID: appID, environment: environment)
        if let space = known.withLock({ $0.byName[key] }) { return space }
        let rows = try await postgres.query(
            """
            WITH made AS (
                INSERT INTO \(table) (app_id, environment) VALUES (\(appID), \(environment.rawValue))
                ON CONFLICT DO NOTHING RETURNING id)
            SELECT id FROM made UNION ALL
            SELECT id FROM \(table) WHERE app_id = \(appID) AND environment = \(environment.rawValue) LIMIT 1
            """)
        // Another instance inserted the row after this statement's snapshot, so the next attempt finds it.
        guard let id = try rows.first?.decode(0, as: Int32.self) else { return try await space(of: appID, environment) }
        let space = Space(id: id, appID: appID, environment: environment)
        known.withLock { $0.keep(space) }
        return space
    }

    /// - Throws: `app-not-found` if the principal names no app; `PostgresError`.
    public func space(of principal: Principal) async throws -> Space {
        guard !principal.appID.isEmpty else { throw ServiceError(.appNotFound) }
        return try await space(of: principal.appID, principal.environment)
    }

    /// The space with this number; nil if there is none.
    ///
    /// - Throws: `PostgresError`.
    public func space(_ id: Int32) async throws -> Space? {
        if let space = known.withLock({ $0.byID[id] }) { return space }
        let rows = try await postgres.query("SELECT app_id, environment FROM \(table) WHERE id = \(id)")
        guard let row = rows.first, let environment = AppEnvironment(rawValue: try row.decode(1)) else { return nil }
        let space = Space(id: id, appID: try row.decode(0), environment: environment)
        known.withLock { $0.keep(space) }
        return space
    }
}
