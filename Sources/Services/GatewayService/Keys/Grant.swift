import MartletAPI
import MartletCore

/// The access that credentials grant, and the principal under which services see the request.
///
/// Confined to one event loop.
final class Grant {
    let principal: Principal
    /// The presented credentials, for the last-used report.
    let credentialIDs: [String]
    /// The areas the credentials give access to.
    let scopes: ScopeMask
    /// Whether the caller is the app's own server: it used a master key, for itself or for a user.
    let isOfServer: Bool
    /// `x-martlet-principal: …`, including the CRLF.
    let headerLine: [UInt8]
    /// Seconds since 1970 at which the grant must be renewed, because its signature becomes too old or a credential
    /// expires.
    let validUntil: Double
    /// Seconds since 1970; 0 if not used since the last report.
    var lastUsed: Double = 0

    /// The signed-in end user whose requests are counted; nil for staff and for the app's own server.
    var user: AppUser? {
        guard principal.kind == .client, let user = principal.userID else { return nil }
        return AppUser(app: principal.appID, environment: principal.environment, user: user)
    }

    /// The credential that per-credential limits apply to. Nil for anonymous requests, which are limited by address.
    var limitedCredential: String? { principal.credentialID.isEmpty ? nil : principal.credentialID }

    init(
        principal: Principal, credentialIDs: [String], scopes: ScopeMask, isOfServer: Bool = false, header: String,
        validUntil: Double
    ) {
        self.principal = principal
        self.isOfServer = isOfServer
        self.credentialIDs = credentialIDs
        self.scopes = scopes
        self.headerLine = Array("x-martlet-principal: \(header)\r\n".utf8)
        self.validUntil = validUntil
    }
}

/// The last grant of a client connection, so that repeated credentials need not be hashed again.
final class GrantMemo {
    var credentialBytes: [UInt8] = []
    var grant: Grant?
    /// The gatekeeper's generation when the grant was stored.
    var generation = -1
    var address: IPAddress?
}
