public import Foundation
public import MartletPostgres

/// An app of the server.
public struct App: Codable, Sendable, Equatable {
    public var id: String
    public var number: Int
    public var name: String
    public var created: Date
}

public struct AppStore: Sendable {
    let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Creates an app with a random id. The name, 1 to 200 characters, need not be unique.
    public func create(name: String) async throws -> App {
        try await postgres.withTransaction { try await Self.create(name: name, $0) }
    }

    static func create(name: String, _ transaction: PostgresTransaction) async throws -> App {
        let rows = try await transaction.query(
            "INSERT INTO auth.apps (id, name) VALUES (\(makeID()), \(name)) RETURNING id, number, name, created")
        return try App(rows[0])
    }

    /// All apps that are not archived, oldest first.
    public func list() async throws -> [App] {
        try await postgres.query(
            "SELECT id, number, name, created FROM auth.apps WHERE archived IS NULL ORDER BY number"
        )
        .map(App.init)
    }

    public func find(_ id: String) async throws -> App? {
        try await postgres.query(
            "SELECT id, number, name, created FROM auth.apps WHERE id = \(id) AND archived IS NULL"
        )
        .first.map(App.init)
    }

    /// A letter and 11 of `a-z0-9`. It is part of a schema's name and not secret.
    private static func makeID() -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        let characters = letters + Array("0123456789")
        return String(letters.randomElement() ?? "a") + String((0..<11).map { _ in characters.randomElement() ?? "0" })
    }
}

extension App {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            id: try row.decode(0), number: try row.decode(1), name: try row.decode(2), created: try row.decode(3))
    }
}
