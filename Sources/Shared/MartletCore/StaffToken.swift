public import Foundation

/// The claims of a staff member's access token: identity and session. Gateways take permissions from the key ring.
///
/// Signed with the keys of `AccessToken`, but with another type and audience, so neither is accepted in place of the
/// other.
public struct StaffToken: Codable, Sendable, Equatable, TokenClaims {
    static let type = "staff+jwt"
    static let audience = "martlet:staff"

    let audience: String
    public var staffID: String
    public var sessionID: String
    /// Whether the password must be changed before anything else.
    public var mustReset: Bool
    /// When the member last proved who they are, in seconds since 1970.
    public var confirmed: Int64?
    /// Seconds since 1970.
    public var issued: Int64
    /// Seconds since 1970.
    public var expires: Int64

    public init(staffID: String, sessionID: String, mustReset: Bool, confirmed: Date? = nil, issued: Date) {
        self.audience = Self.audience
        self.staffID = staffID
        self.sessionID = sessionID
        self.mustReset = mustReset
        self.confirmed = confirmed.map { Int64($0.timeIntervalSince1970) }
        self.issued = Int64(issued.timeIntervalSince1970)
        self.expires = self.issued + AccessToken.lifetime.components.seconds
    }

    private enum CodingKeys: String, CodingKey {
        case audience = "aud"
        case staffID = "sub"
        case sessionID = "sid"
        case mustReset = "rst"
        case confirmed = "auth_time"
        case issued = "iat"
        case expires = "exp"
    }
}
