/// The public profiles of some users of an app, for the collection `_User`.
///
/// Wire shape of the body of `POST /internal/users/documents`, which storage implements. Idempotent: storage ignores a
/// version that is not newer than the one it has.
public struct UserDocuments: Codable, Sendable, Equatable {
    /// The limit of one call. Profiles of more than a few KiB come in smaller portions.
    public static let maximumUsers = 100

    /// The app's id.
    public var app: String
    public var environment: AppEnvironment
    public var users: [User]

    public init(app: String, environment: AppEnvironment, users: [User]) {
        (self.app, self.environment, self.users) = (app, environment, users)
    }

    public struct User: Codable, Sendable, Equatable {
        /// Lower case.
        public var id: String
        /// Greater than those of all earlier states of the same user.
        public var version: Int64
        /// Nil for a user who is disabled or deleted, whom other users cannot see.
        public var shown: Shown?
        /// The same for a disabled user, whom only the app's server and staff can see. It is a separate member because
        /// an older storage service ignores it, and so shows a disabled user to nobody.
        public var hidden: Shown?

        /// What is stored of the user; nil for a deleted one.
        public var stored: Shown? { shown ?? hidden }

        public init(id: String, version: Int64, shown: Shown?, hidden: Shown? = nil) {
            (self.id, self.version, self.shown, self.hidden) = (id, version, shown, hidden)
        }
    }

    public struct Shown: Codable, Sendable, Equatable {
        public var userName: String?
        /// The text of a JSON object.
        public var profile: String
        /// RFC 3339, as `updated`.
        public var created: String
        public var updated: String
        /// For rules only; not part of the document.
        public var isEmailVerified: Bool

        public init(userName: String?, profile: String, created: String, updated: String, isEmailVerified: Bool) {
            (self.userName, self.profile, self.created, self.updated) = (userName, profile, created, updated)
            self.isEmailVerified = isEmailVerified
        }
    }
}
