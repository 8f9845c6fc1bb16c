public import Foundation
public import Hummingbird
public import MartletAPI
public import MartletCore
public import NIOCore

/// The context of a request on its way through a service's middleware to its endpoint.
public struct ServiceContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// Set by `PrincipalMiddleware`; nil only on routes outside it.
    public var verifiedPrincipal: Principal?
    public var requestID: String = ""
    /// The values of the query's integers that are declared with a default.
    var integers: [Substring: Int] = [:]
    /// The connection on which the request arrived.
    public let channel: any Channel

    public init(source: Source) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// The caller.
    ///
    /// - Throws: `unauthorized` on a route without `PrincipalMiddleware`.
    public var principal: Principal {
        get throws {
            guard let verifiedPrincipal else { throw ServiceError(.unauthorized) }
            return verifiedPrincipal
        }
    }

    /// A part of the path, decoded; empty if the route has no parameter of this name.
    public func component(_ name: String) -> String { parameters.get(name) ?? "" }

    /// An integer in the query, within its declared range; the declared default if it is absent.
    ///
    /// - Throws: `internal-error` if the route declares no integer of this name with a default.
    public func integer(_ name: Substring) throws -> Int {
        guard let value = integers[name] else {
            throw ServiceError(.internalError, cause: "The route declares no integer \(name) with a default.")
        }
        return value
    }

    /// An id in the path.
    ///
    /// - Parameter code: The error if the part is not a UUID; usually the error for an unknown id.
    public func uuid(_ name: String, else code: ErrorCode, _ detail: String? = nil) throws -> UUID {
        guard let id = UUID(uuidString: component(name)) else { throw ServiceError(code, detail, field: name) }
        return id
    }

    /// The principal, which must be an app's own server.
    ///
    /// - Throws: `forbidden` for any other principal.
    public var master: Principal {
        get throws {
            let principal = try principal
            guard principal.kind == .master else {
                throw ServiceError(.forbidden, "This call needs the master key in X-Martlet-Master-Key.")
            }
            return principal
        }
    }

    /// The calling staff member, who must have the permission for `action`.
    ///
    /// - Parameter appID: The app that `area` belongs to; nil for the server's area, or that of every app.
    /// - Throws: `forbidden` for all others; `password-reset-required`, `invalid-token`.
    @discardableResult
    public func staff(may action: StaffAction, _ area: StaffArea, in appID: String? = nil) throws -> StaffGrant {
        let staff = try signedInStaff
        guard staff.may(action, area, in: appID) else {
            throw ServiceError(
                .forbidden, "This call needs the right to \(action.rawValue) in the area \(area.rawValue).")
        }
        return staff
    }

    /// The calling staff member, whatever their permissions.
    ///
    /// - Throws: `forbidden` if the caller is not a staff member; `password-reset-required`, `invalid-token`.
    public var signedInStaff: StaffGrant {
        get throws {
            let staff = try staffBeforeReset
            guard !staff.mustReset else { throw ServiceError(.passwordResetRequired) }
            return staff
        }
    }

    /// The calling staff member, for the few calls allowed while a password reset is required.
    public var staffBeforeReset: StaffGrant {
        get throws {
            let principal = try principal
            guard principal.kind == .staff else { throw ServiceError(.forbidden, "This call is for staff.") }
            guard let staff = principal.staff else {
                throw ServiceError(.invalidToken, "Send an access token: Authorization: Bearer ….")
            }
            return staff
        }
    }
}
