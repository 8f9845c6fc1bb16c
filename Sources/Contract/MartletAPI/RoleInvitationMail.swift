/// An invitation to a role that is to be mailed.
///
/// Wire shape of the body of `POST /internal/mail/role-invitations`, which auth implements and storage calls.
public struct RoleInvitationMail: Codable, Sendable, Equatable {
    public var app: String
    public var environment: AppEnvironment
    public var email: String
    public var role: String
    public var code: String
    /// How long the code is valid.
    public var secondsLeft: Int64
    /// The id of the user who invites; nil for the app's server.
    public var inviter: String?
    /// The language of the mail (BCP 47); nil for the app's.
    public var language: String?
    /// One of the app's `linkURLs`; nil for the first.
    public var link: String?

    public init(
        app: String, environment: AppEnvironment, email: String, role: String, code: String, secondsLeft: Int64,
        inviter: String?, language: String?, link: String?
    ) {
        self.app = app
        self.environment = environment
        self.email = email
        self.role = role
        self.code = code
        self.secondsLeft = secondsLeft
        self.inviter = inviter
        self.language = language
        self.link = link
    }

    public struct Answer: Codable, Sendable, Equatable {
        public var outcome: Outcome

        public init(_ outcome: Outcome) { self.outcome = outcome }
    }

    public enum Outcome: String, Codable, Sendable {
        case ordered
        case invalidEmail
        case invalidLanguage
        case unknownLink
        case noMailServer
        /// The app or the inviter has requested too many mails this hour.
        case tooManyMails
    }
}
