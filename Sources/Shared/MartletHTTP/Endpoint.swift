public import HTTPTypes
public import Hummingbird

/// One API call: decodes the request, applies rules, calls a store, answers.
public protocol Endpoint: Sendable {
    /// - Throws: `HTTPProblem` for errors that the client should see; any other error becomes a plain 500.
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response
}

extension Router<ServiceContext> {
    /// Binds an endpoint to a method and a path such as `storage/:collection`.
    public func on(_ method: HTTPRequest.Method, _ path: RouterPath, _ endpoint: some Endpoint) {
        on(path, method: method) { request, context in try await endpoint.respond(to: request, context) }
    }
}
