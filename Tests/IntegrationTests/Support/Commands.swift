import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

extension LocalServer {
    /// Runs an operator command against this server's database.
    func martlet(_ arguments: String...) async throws -> Programs.Result {
        try await Programs.run("martlet", arguments, environment: ["MARTLET_DATABASE_URL": connection.databaseURL])
    }

    struct MadeApp: Decodable {
        var appId: String
        var appKey: String
        var secret: String
        var masterKey: String
        var testAppKey: String
        var ingestKey: String
        var evaluationKey: String
    }

    /// Runs `martlet app create`.
    func makeApp(_ name: String) async throws -> MadeApp {
        let result = try await martlet("app", "create", "--name", name, "--json")
        try #require(result.status == 0, "\(result.errors)")
        let app = try JSONDecoder().decode(MadeApp.self, from: Data(result.output.utf8))
        for text in [app.appKey, app.secret, app.masterKey, app.testAppKey, app.ingestKey, app.evaluationKey] {
            record(secret: text)
        }
        try await open(app.appId)
        return app
    }

    /// Opens what no rule restricts, as in the first app.
    func open(_ app: String) async throws {
        try await withDatabase { database in
            _ = try await database.execute(
                "INSERT INTO storage.spaces (schema, version, access) VALUES (\("app_" + app), 0, 'open')")
        }
    }

    func client(_ app: MadeApp) -> Client {
        Client(url: connection.url, appKey: app.appKey, headers: [HeaderName.secret: app.secret])
    }

    struct KeyRecord: Decodable {
        var id: String
        var kind: String
        var label: String
        var lastUsed: String?
        var revoked: String?
    }

    struct MadeKey: Decodable {
        var key: String
        var record: KeyRecord
    }

    /// Runs `martlet key create` for the first app.
    func makeKey(_ kind: String, _ arguments: String...) async throws -> MadeKey {
        let result = try await Programs.run(
            "martlet", ["key", "create", "--app", connection.appId, "--kind", kind, "--json"] + arguments,
            environment: ["MARTLET_DATABASE_URL": connection.databaseURL])
        try #require(result.status == 0, "\(result.errors)")
        let made = try JSONDecoder().decode(MadeKey.self, from: Data(result.output.utf8))
        record(secret: made.key)
        return made
    }

    /// Runs `martlet key list` for the first app.
    func keys() async throws -> [KeyRecord] {
        let result = try await martlet("key", "list", "--app", connection.appId, "--json")
        try #require(result.status == 0, "\(result.errors)")
        return try JSONDecoder().decode([KeyRecord].self, from: Data(result.output.utf8))
    }
}

/// Two seconds are guaranteed; the limit is generous because the machine may be busy.
func waitUntilOpen(_ client: Client) async throws {
    try await eventually("the new credential is accepted", within: .seconds(180)) {
        try await client.get("storage/Any").status == 200
    }
}

func waitUntilRefused(_ client: Client) async throws {
    try await eventually("the credential is refused", within: .seconds(180)) {
        try await client.get("storage/Any").isProblem(.unauthorized)
    }
}
