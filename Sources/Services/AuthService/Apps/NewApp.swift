import MartletAPI
import MartletCore
public import MartletPostgres

/// An app with one credential of each kind. The credentials are shown only to the app's creator, and only once.
public struct NewApp: Codable, Sendable {
    public var appId: String
    public var appNumber: Int
    public var appKey: String
    public var secret: String
    /// Nil if the creator may not have a master key.
    public var masterKey: String?
    public var testAppKey: String
    public var ingestKey: String
    public var evaluationKey: String

    /// Creates an app as the operator, with an entry in the audit log.
    public static func create(name: String, in postgres: PostgresClient) async throws -> NewApp {
        try await postgres.withTransaction { transaction in
            let app = try await AppStore.create(name: name, transaction)
            try await AuditStore(postgres: postgres).record(
                AuditEntry(
                    byOperator: "create", .applications, of: app.id, target: app.id, after: try JSONValue(encoding: app)
                ), transaction)
            return try await NewApp(credentialsOf: app, transaction)
        }
    }

    /// Creates a set of credentials for an existing app.
    public init(credentialsOf app: App, in postgres: PostgresClient) async throws {
        self = try await postgres.withTransaction { try await NewApp(credentialsOf: app, $0) }
    }

    init(credentialsOf app: App, withMasterKey: Bool = true, _ transaction: PostgresTransaction) async throws {
        func make(_ kind: CredentialKind, _ environment: AppEnvironment = .live) async throws -> String {
            try await CredentialStore.create(
                NewCredential(kind: kind, environment: environment, label: "first"), of: app.id, transaction
            )
            .text.withValue { $0 }
        }
        appId = app.id
        appNumber = app.number
        appKey = try await make(.client)
        secret = try await make(.secret)
        masterKey = withMasterKey ? try await make(.master) : nil
        testAppKey = try await make(.client, .test)
        ingestKey = try await make(.ingest)
        evaluationKey = try await make(.evaluation)
    }
}
