import AuthService
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// An app with one credential of each kind, as `martlet app create` makes it and prints it once.
struct NewApp: Codable, Sendable {
    var appId: String
    var appNumber: Int
    var appKey: String
    var secret: String
    var masterKey: String
    var testAppKey: String
    var ingestKey: String
    var evaluationKey: String

    static func create(name: String, in postgres: PostgresClient) async throws -> NewApp {
        let app = try await AppStore(postgres: postgres).create(name: name)
        return try await NewApp(credentialsOf: app, in: postgres)
    }

    /// Makes a set of credentials for an app that is there.
    init(credentialsOf app: App, in postgres: PostgresClient) async throws {
        let store = CredentialStore(postgres: postgres)
        func make(_ kind: CredentialKind, _ environment: AppEnvironment = .live) async throws -> String {
            try await store.create(kind, environment: environment, label: "first", of: app.id).text.withValue { $0 }
        }
        appId = app.id
        appNumber = app.number
        appKey = try await make(.client)
        secret = try await make(.secret)
        masterKey = try await make(.master)
        testAppKey = try await make(.client, .test)
        ingestKey = try await make(.ingest)
        evaluationKey = try await make(.evaluation)
    }
}
