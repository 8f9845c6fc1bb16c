public import Hummingbird
import MartletCore

/// One API call. Runs after the checks that its `Route` declares: applies rules, calls a store, answers.
public protocol Endpoint: Sendable {
    /// - Throws: `ServiceError` for errors that the client should see; any other error becomes a plain 500.
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response
}
