public import Hummingbird
public import MartletAPI
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

    /// The staff member who is asking, when they may do `action`.
    ///
    /// - Parameter appID: whose `area` it is; nil: the server's, or that of every app.
    /// - Throws: `forbidden` for all others; `password-reset-required`, `invalid-token`.
    @discardableResult
    public func staff(may action: StaffAction, _ area: StaffArea, in appID: String? = nil) throws -> StaffGrant {
        let staff = try signedInStaff
        guard staff.may(action, area, in: appID) else {
            throw HTTPProblem(.forbidden, "This needs the right to \(action.rawValue) in the area \(area.rawValue).")
        }
        return staff
    }

    /// The staff member who is asking, whatever they may do.
    ///
    /// - Throws: `forbidden` when it is no staff member; `password-reset-required`, `invalid-token`.
    public var signedInStaff: StaffGrant {
        get throws {
            let staff = try staffBeforeReset
            guard !staff.mustReset else { throw HTTPProblem(.passwordResetRequired) }
            return staff
        }
    }

    /// The same for the few calls that are open to who has to choose another password.
    public var staffBeforeReset: StaffGrant {
        get throws {
            let principal = try principal
            guard principal.kind == .staff else { throw HTTPProblem(.forbidden, "This call is for staff.") }
            guard let staff = principal.staff else { throw HTTPProblem(.invalidToken, "Send an access token: Authorization: Bearer ….") }
            return staff
        }
    }
}
