import HTTPTypes
import Hummingbird
import MartletAPI

/// Refuses an unsupported method and lists the supported ones (RFC 9110 §15.5.6).
private struct MethodNotAllowed: Endpoint {
    let allowed: String

    func respond(to request: Request, _ context: ServiceContext) throws -> Response {
        throw HTTPProblem(.methodNotAllowed, headers: [.allow: allowed])
    }
}

extension Router<ServiceContext> {
    private static var methods: [HTTPRequest.Method] { [.get, .post, .put, .patch, .delete] }

    /// Adds a refusal for every method without an endpoint, on all paths of this router. Call after adding all
    /// endpoints.
    func refuseOtherMethods() {
        let endpoints = Dictionary(grouping: routes) { $0.path.description }.values
        for routes in endpoints {
            let taken = Set(routes.map(\.method))
            let allowed = taken.union(taken.contains(.get) ? [.head] : []).map(\.rawValue).sorted().joined(
                separator: ", ")
            for method in Self.methods where !taken.contains(method) {
                on(method, routes[0].path, MethodNotAllowed(allowed: allowed))
            }
        }
    }
}
