import ArgumentParser
import Foundation
import Logging
import MartletCore
import MartletPostgres

/// Opens a database client for one command.
enum Database {
    static func withClient<T: Sendable>(
        url: Secret? = nil, _ body: (PostgresClient) async throws -> T
    ) async throws -> T {
        let url = try url ?? environmentURL()
        var configuration = PostgresConfiguration(url: url, applicationName: "martlet", maximumConnections: 1)
        // A lost response of the name server costs 5 s. Waiting that long is better than failing the command.
        configuration.connectTimeout = .seconds(12)
        configuration.waitForConnectionTimeout = .seconds(15)
        let client = PostgresClient(
            configuration: configuration, logger: Logger(label: "martlet") { _ in SwiftLogNoOpLogHandler() })
        do {
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }

    private static func environmentURL() throws -> Secret {
        guard let url = ProcessInfo.processInfo.environment["MARTLET_DATABASE_URL"], !url.isEmpty else {
            throw ValidationError("set MARTLET_DATABASE_URL to the database's address (see .martlet/connection.json)")
        }
        return Secret(url)
    }
}
