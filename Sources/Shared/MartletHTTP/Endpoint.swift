public import Hummingbird

/// One API call: applies rules, calls a store, answers. Its `Route` says what is checked before.
public protocol Endpoint: Sendable {
    /// - Throws: `HTTPProblem` for errors that the client should see; any other error becomes a plain 500.
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response
}
