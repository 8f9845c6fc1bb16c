import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Where one app's data of one environment lives: the schema `app_<id>` or `app_<id>_test`, and the role of the same
/// name.
struct AppSpace: Sendable, Hashable {
    let appID: String
    let environment: AppEnvironment
    let schema: String
    let role: PostgresIdentifier

    /// - Throws: `unauthorized` for a principal without an app.
    init(_ principal: Principal) throws {
        let isWellFormed = principal.appID.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        schema = "app_" + principal.appID + (principal.environment == .test ? "_test" : "")
        guard isWellFormed, (1...32).contains(principal.appID.utf8.count), let role = PostgresIdentifier(schema) else {
            throw HTTPProblem(.unauthorized)
        }
        self.appID = principal.appID
        self.environment = principal.environment
        self.role = role
    }

    /// Nil when this is no app's schema.
    init?(schema: String) {
        guard schema.hasPrefix("app_") else { return nil }
        let isTest = schema.hasSuffix("_test")
        let principal = Principal(
            kind: .master, appID: String(schema.dropFirst(4).dropLast(isTest ? 5 : 0)), appNumber: 0,
            environment: isTest ? .test : .live, credentialID: "")
        guard let space = try? AppSpace(principal) else { return nil }
        self = space
    }

    /// The scope of this environment's jobs: a test key cannot see, cancel or fetch those of live.
    var jobScope: String { environment == .live ? appID : appID + "_test" }

    func table(_ collection: CollectionName) throws -> PostgresIdentifier {
        guard let table = PostgresIdentifier(schema: schema, name: collection.text) else {
            throw HTTPProblem(.invalidName)
        }
        return table
    }

    /// A table of the space's own; these begin with `_`, so that no collection can meet them.
    func own(_ table: StaticString) throws -> PostgresIdentifier {
        guard let table = PostgresIdentifier(schema: schema, name: table.description) else {
            throw HTTPProblem(.internalError)
        }
        return table
    }
}
