import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore

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
                on(routes[0].path, method: method) { _, _ -> Response in
                    // RFC 9110 §15.5.6
                    throw ErrorWithHeaders(ServiceError(.methodNotAllowed), [.allow: allowed])
                }
            }
        }
    }
}
