public import MartletAPI

/// How users of an app are reached by mail, as auth tells the other services: `POST /internal/users/contacts` with
/// `Request`.
public struct MailContacts: Codable, Sendable, Equatable {
    public struct Request: Codable, Sendable {
        public static let maximumUsers = 100

        public var app: String
        public var environment: AppEnvironment
        /// Ids, `maximumUsers` at most.
        public var users: [String]

        public init(app: String, environment: AppEnvironment, users: [String]) {
            self.app = app
            self.environment = environment
            self.users = users
        }
    }

    public struct Contact: Codable, Sendable, Equatable {
        /// In small letters.
        public var id: String
        /// Nil: the user has no address, or it is not verified, or the user is disabled: then nobody writes to them.
        public var email: String?
        public var language: String?

        public init(id: String, email: String?, language: String?) {
            self.id = id
            self.email = email
            self.language = language
        }
    }

    /// The app's name; nil: there is no such app (any more), and nobody is written to.
    public var app: String?
    /// Without those there are not.
    public var users: [Contact]

    public init(app: String?, users: [Contact]) {
        self.app = app
        self.users = users
    }
}
