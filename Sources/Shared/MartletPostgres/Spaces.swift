public import MartletAPI
import Synchronization

/// An app's environment by its number in a service's table `spaces`: what everything in that service belongs to.
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

/// The numbers of spaces, given out when an app first sends or asks something, and remembered: they never change.
///
/// The table is `<schema>.spaces` with `id` (an identity), `app_id` and `environment`, the two of them unique together.
public final class Spaces: Sendable {
    private struct Key: Hashable {
        var appID: String
        var environment: AppEnvironment
    }

    private let postgres: PostgresClient
    private let table: PostgresIdentifier
    private let known = Mutex(Known())

    private struct Known {
        var byName: [Key: Space] = [:]
        var byID: [Int32: Space] = [:]

        mutating func keep(_ space: Space) {
            byName[Key(appID: space.appID, environment: space.environment)] = space
            byID[space.id] = space
        }
    }

    /// - Parameter schema: the service's.
    public init(postgres: PostgresClient, schema: String) {
        self.postgres = postgres
        guard let table = PostgresIdentifier(schema: schema, name: "spaces") else { preconditionFailure("not a schema: \(schema)") }
        self.table = table
    }

    /// - Throws: `PostgresError`.
    public func space(of appID: String, _ environment: AppEnvironment) async throws -> Space {
        let key = Key(appID: appID, environment: environment)
        if let space = known.withLock({ $0.byName[key] }) { return space }
        let rows = try await postgres.query(
            """
            WITH made AS (
                INSERT INTO \(table) (app_id, environment) VALUES (\(appID), \(environment.rawValue))
                ON CONFLICT DO NOTHING RETURNING id)
            SELECT id FROM made UNION ALL
            SELECT id FROM \(table) WHERE app_id = \(appID) AND environment = \(environment.rawValue) LIMIT 1
            """)
        // Another copy made it between the two halves of the statement: now it is there.
        guard let id = try rows.first?.decode(0, as: Int32.self) else { return try await space(of: appID, environment) }
        let space = Space(id: id, appID: appID, environment: environment)
        known.withLock { $0.keep(space) }
        return space
    }

    /// The space by its number; nil: there is none.
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
