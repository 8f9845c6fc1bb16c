public import MartletAPI

/// Who is asking, as the gateway established it and a service may rely on it.
public struct Principal: Codable, Sendable, Hashable {
    public enum Kind: String, Codable, Sendable {
        /// An app on somebody's device: app key and secret.
        case client
        /// A server of the app's owner: master key.
        case master
        case ingest
        case evaluation
        /// Whoever has a signed link: an app key alone, which opens nothing but what the link's signature says.
        case link
        /// Somebody who runs the server. Has no app in hand but where the path names one.
        case staff
        /// Whoever came through the gateway with nothing in hand, as a person's browser does: opens what is made for it, and nothing else.
        case visitor
        /// Another process of ours, with no app in hand.
        case service
    }

    public var kind: Kind
    /// The app's id; empty for `.service` and `.visitor`, and for `.staff` where the path names none.
    public var appID: String
    /// The app's project number; 0 where there is no app.
    public var appNumber: Int
    public var environment: AppEnvironment
    /// Id of the credential that opened the door; the process name for `.service`, the staff member's id for `.staff`, empty for `.visitor`.
    public var credentialID: String
    /// The app's end user who is asking, or whom its server asks for; nil: nobody in particular.
    public var userID: String?
    /// The user's or staff member's session, if an access token said who is asking.
    public var sessionID: String?
    /// The staff member who is asking; nil also for `.staff` where nobody has signed in yet.
    public var staff: StaffGrant?

    public init(
        kind: Kind, appID: String, appNumber: Int, environment: AppEnvironment, credentialID: String, userID: String? = nil,
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

    public static let visitor = Principal(kind: .visitor, appID: "", appNumber: 0, environment: .live, credentialID: "")

    public static func service(_ name: String) -> Principal {
        Principal(kind: .service, appID: "", appNumber: 0, environment: .live, credentialID: name)
    }
}
