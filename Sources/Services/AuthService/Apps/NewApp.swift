import MartletAPI
import MartletCore
public import MartletPostgres

/// An app with one credential of each kind, as whoever made it sees it this once.
public struct NewApp: Codable, Sendable {
    public var appId: String
    public var appNumber: Int
    public var appKey: String
    public var secret: String
    public var masterKey: String
    public var testAppKey: String
    public var ingestKey: String
    public var evaluationKey: String

    public static func create(name: String, in postgres: PostgresClient) async throws -> NewApp {
        try await postgres.withTransaction { transaction in
            try await NewApp(credentialsOf: try await AppStore.create(name: name, transaction), transaction)
        }
    }

    /// Makes a set of credentials for an app that is there.
    public init(credentialsOf app: App, in postgres: PostgresClient) async throws {
        self = try await postgres.withTransaction { try await NewApp(credentialsOf: app, $0) }
    }

    init(credentialsOf app: App, _ transaction: PostgresTransaction) async throws {
        func make(_ kind: CredentialKind, _ environment: AppEnvironment = .live) async throws -> String {
            try await CredentialStore.create(NewCredential(kind: kind, environment: environment, label: "first"), of: app.id, transaction)
                .text.withValue { $0 }
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
