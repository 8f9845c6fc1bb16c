public import MartletAPI

/// The addresses of an app's users, as the auth service returns them: `POST /internal/users/contacts` with `Request`.
public struct MailContacts: Codable, Sendable, Equatable {
    public struct Request: Codable, Sendable {
        public static let maximumUsers = 100

        public var app: String
        public var environment: AppEnvironment
        /// User ids, at most `maximumUsers`.
        public var users: [String]

        public init(app: String, environment: AppEnvironment, users: [String]) {
            self.app = app
            self.environment = environment
            self.users = users
        }
    }

    public struct Contact: Codable, Sendable, Equatable {
        /// The user id, in lower case.
        public var id: String
        /// Nil when the user is disabled or has no verified address; such a user gets no mail.
        public var email: String?
        public var language: String?

        public init(id: String, email: String?, language: String?) {
            self.id = id
            self.email = email
            self.language = language
        }
    }

    /// The app's name. Nil when the app does not exist (any more); then send no mail.
    public var app: String?
    /// Omits users that do not exist.
    public var users: [Contact]

    public init(app: String?, users: [Contact]) {
        self.app = app
        self.users = users
    }
}
