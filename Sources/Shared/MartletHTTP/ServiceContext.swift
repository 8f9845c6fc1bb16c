public import Hummingbird
import MartletAPI
public import MartletCore

/// What a request carries through the middleware of a service to its endpoint.
public struct ServiceContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// Set by `PrincipalMiddleware`; nil on routes outside it only.
    public var verifiedPrincipal: Principal?
    public var requestID: String = ""

    public init(source: Source) {
        self.coreContext = .init(source: source)
    }

    /// Who is asking.
    ///
    /// - Throws: `unauthorized` on a route that no `PrincipalMiddleware` guards.
    public var principal: Principal {
        get throws {
            guard let verifiedPrincipal else { throw HTTPProblem(.unauthorized) }
            return verifiedPrincipal
        }
    }

    /// The principal, when it is an app's own server.
    ///
    /// - Throws: `forbidden` for every other kind.
    public var master: Principal {
        get throws {
            let principal = try principal
            guard principal.kind == .master else {
                throw HTTPProblem(.forbidden, "This call needs the master key in X-Martlet-Master-Key.")
            }
            return principal
        }
    }
}
