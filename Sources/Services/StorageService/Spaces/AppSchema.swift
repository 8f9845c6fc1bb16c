import MartletAPI
import MartletCore
import MartletPostgres

/// The place of an app's data in one environment: the schema `app_<id>` or `app_<id>_test`, and the role of the same
/// name.
struct AppSchema: Sendable, Hashable {
    let app: AppSpace
    let schema: String
    let role: PostgresIdentifier

    /// - Throws: `unauthorized` for a principal without an app.
    init(_ principal: Principal) throws {
        let isWellFormed = principal.appID.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        schema = "app_" + principal.appID + (principal.environment == .test ? "_test" : "")
        guard isWellFormed, (1...32).contains(principal.appID.utf8.count), let role = PostgresIdentifier(schema) else {
            throw ServiceError(.unauthorized)
        }
        app = principal.space
        self.role = role
    }

    /// Nil if the schema is not that of an app.
    init?(schema: String) {
        guard schema.hasPrefix("app_") else { return nil }
        let isTest = schema.hasSuffix("_test")
        let principal = Principal(
            kind: .master, appID: String(schema.dropFirst(4).dropLast(isTest ? 5 : 0)), appNumber: 0,
            environment: isTest ? .test : .live, credentialID: "")
        guard let space = try? AppSchema(principal) else { return nil }
        self = space
    }

    var appID: String { app.appID }
    var environment: AppEnvironment { app.environment }

    /// The scope of this environment's jobs, so that a test key cannot list, cancel or fetch live jobs.
    var jobScope: String { environment == .live ? appID : appID + "_test" }

    func table(_ collection: CollectionName) throws -> PostgresIdentifier {
        guard let table = PostgresIdentifier(schema: schema, name: collection.text) else {
            throw ServiceError(.invalidName)
        }
        return table
    }

    /// One of the space's internal tables. Their names begin with `_`, so they cannot collide with collections.
    func own(_ table: StaticString) throws -> PostgresIdentifier {
        guard let table = PostgresIdentifier(schema: schema, name: table.description) else {
            throw ServiceError(.internalError)
        }
        return table
    }
}
