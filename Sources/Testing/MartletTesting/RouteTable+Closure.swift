public import HTTPTypes
public import Hummingbird
public import MartletHTTP

/// Declares routes that exist only in tests, open to every caller and accepting any query and body.
extension RouteTable {
    public typealias Respond = @Sendable (Request, ServiceContext) async throws -> any ResponseGenerator

    public mutating func get(_ path: String, _ respond: @escaping Respond) { on(.get, path, respond) }
    public mutating func post(_ path: String, _ respond: @escaping Respond) { on(.post, path, respond) }

    public mutating func on(_ method: HTTPRequest.Method, _ path: String, _ respond: @escaping Respond) {
        on(Self.route(method, path), ClosureEndpoint(closure: respond))
    }

    public mutating func on(_ method: HTTPRequest.Method, _ path: String, _ endpoint: some Endpoint) {
        on(Self.route(method, path), endpoint)
    }

    private static func route(_ method: HTTPRequest.Method, _ path: String) -> Route {
        Route(method, path, "", "", callers: .anyone, checksOwnQuery: true, body: .json(.any))
    }
}

private struct ClosureEndpoint: Endpoint {
    let closure: RouteTable.Respond

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await closure(request, context).response(from: request, context: context)
    }
}
