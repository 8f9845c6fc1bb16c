public import MartletAPI

/// The caller of a request, as authenticated by the gateway.
public struct Principal: Codable, Sendable, Hashable {
    public enum Kind: String, Codable, Sendable {
        /// An app on a device: app key and secret.
        case client
        /// A server of the app's owner: master key.
        case master
        case ingest
        case evaluation
        /// The holder of a signed link: an app key alone, which grants only what the link's signature allows.
        case link
        /// A staff member of this server. Has an app only if the path names one.
        case staff
        /// An anonymous caller such as a browser. Has access only to routes made for visitors.
        case visitor
        /// Another of our processes, without an app.
        case service
    }

    public var kind: Kind
    /// The app's id. Empty for `.service` and `.visitor`, and for `.staff` if the path names no app.
    public var appID: String
    /// The app's project number; 0 without an app.
    public var appNumber: Int
    public var environment: AppEnvironment
    /// The id of the credential that was used: the process name for `.service`, the staff member's id for `.staff`,
    /// empty for `.visitor`.
    public var credentialID: String
    /// The app's end user who makes the request, or on whose behalf the app's server makes it; nil without a user.
    public var userID: String?
    /// The user's or staff member's session, if an access token was used.
    public var sessionID: String?
    /// The calling staff member; nil for other kinds, and for `.staff` before sign-in.
    public var staff: StaffGrant?

    public init(
        kind: Kind, appID: String, appNumber: Int, environment: AppEnvironment, credentialID: String,
        userID: String? = nil,
        sessionID: String? = nil, staff: StaffGrant? = nil
    ) {
        self.kind = kind
        self.appID = appID
        self.appNumber = appNumber
        self.environment = environment
        self.credentialID = credentialID
        self.userID = userID
        self.sessionID = sessionID
        self.staff = staff
    }

    /// Whether the app's rules for its users do not restrict the caller: the app's own server, and staff, whose right
    /// to the call the route has checked.
    public var hasServerRights: Bool { userID == nil && (kind == .master || kind == .staff) }

    public static let visitor = Principal(kind: .visitor, appID: "", appNumber: 0, environment: .live, credentialID: "")

    public static func service(_ name: String) -> Principal {
        Principal(kind: .service, appID: "", appNumber: 0, environment: .live, credentialID: name)
    }
}
