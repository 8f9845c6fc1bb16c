public import Foundation

/// What an access token says of the staff member who presents it: who, and by which session. What they may do gateways know from the key ring.
///
/// Signed with the keys of `AccessToken`, but of another type and for another audience: neither opens what the other does.
public struct StaffToken: Codable, Sendable, Equatable, TokenClaims {
    static let type = "staff+jwt"
    static let audience = "martlet:staff"

    let audience: String
    public var staffID: String
    public var sessionID: String
    /// Another password has to be chosen before anything else.
    public var mustReset: Bool
    /// Seconds since 1970.
    public var issued: Int64
    /// Seconds since 1970.
    public var expires: Int64

    public init(staffID: String, sessionID: String, mustReset: Bool, issued: Date) {
        self.audience = Self.audience
        self.staffID = staffID
        self.sessionID = sessionID
        self.mustReset = mustReset
        self.issued = Int64(issued.timeIntervalSince1970)
        self.expires = self.issued + AccessToken.lifetime.components.seconds
    }

    private enum CodingKeys: String, CodingKey {
        case audience = "aud"
        case staffID = "sub"
        case sessionID = "sid"
        case mustReset = "rst"
        case issued = "iat"
        case expires = "exp"
    }
}
