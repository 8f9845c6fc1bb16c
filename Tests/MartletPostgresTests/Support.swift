import Logging
import MartletPostgres
import MartletTesting
import Testing

/// Lends a client of a new database on the shared server.
func withClient<R>(
    _ configure: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresClient) async throws -> R
) async throws -> R {
    var configuration = try await PostgresServer.shared().makeDatabase()
    configuration.useTestTimeouts()
    configure(&configuration)
    return try await withClient(configuration, body)
}

func withClient<R>(_ configuration: PostgresConfiguration, _ body: (PostgresClient) async throws -> R) async throws -> R
{
    let client = PostgresClient(configuration: configuration, logger: Logger(label: "test"))
    do {
        let result = try await body(client)
        await client.close()
        return result
    } catch {
        await client.close()
        throw error
    }
}

/// The error that `body` throws; records a failure and returns nil if there is none.
func postgresError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async -> PostgresError? {
    do {
        _ = try await body()
        Issue.record("no error", sourceLocation: sourceLocation)
    } catch let error as PostgresError {
        return error
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
    return nil
}

func sharedServer() async throws -> PostgresServer { try await PostgresServer.shared() }
