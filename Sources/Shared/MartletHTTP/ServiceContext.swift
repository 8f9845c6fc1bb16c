public import Hummingbird
import MartletAPI
public import MartletCore
public import NIOCore

/// What a request carries through the middleware of a service to its endpoint.
public struct ServiceContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// Set by `PrincipalMiddleware`; nil on routes outside it only.
    public var verifiedPrincipal: Principal?
    public var requestID: String = ""
    /// The connection that the request came by.
    public let channel: any Channel

    public init(source: Source) {
        coreContext = .init(source: source)
        channel = source.channel
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
