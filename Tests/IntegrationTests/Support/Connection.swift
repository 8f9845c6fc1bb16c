import Foundation

/// The documented content of `connection.json`.
struct Connection: Codable, Sendable {
    var url: String
    var appId: String
    var appKey: String
    var secret: String
    var masterKey: String
    var testAppKey: String
    var ingestKey: String
    var evaluationKey: String
    var oidcIssuer: String
    var sentryDSN: String
    var staffUser: String
    var staffPassword: String
    var databaseURL: String
    var services: [String: String]
    var internalServices: [String: String]

    static func read(from file: URL) throws -> Connection {
        try JSONDecoder().decode(Connection.self, from: Data(contentsOf: file))
    }
}
