public import Hummingbird

/// Decodes `+` in a query string as a space, as written by forms, `URLSearchParams` and most HTTP clients (WHATWG URL
/// §5.1).
public struct FormQueryMiddleware: RouterMiddleware {
    public typealias Context = ServiceContext

    public init() {}

    public func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        try await next(Self.decoded(request), context)
    }

    static func decoded(_ request: Request) -> Request {
        guard let path = request.head.path, let query = path.utf8.firstIndex(of: UInt8(ascii: "?")),
            path.utf8[query...].contains(UInt8(ascii: "+"))
        else { return request }
        var head = request.head
        let parts = path[query...].split(separator: "+", omittingEmptySubsequences: false)
        head.path = path[..<query] + parts.joined(separator: "%20")
        return Request(head: head, body: request.body)
    }
}
