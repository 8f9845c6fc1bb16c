/// Whose data a service shall erase or hand out, and from where on.
///
/// Wire shape of the bodies of `POST /internal/users/erase` and `POST /internal/users/export`, which every service has.
public struct UserDataRequest: Codable, Sendable, Hashable {
    /// The app's id.
    public var app: String
    public var environment: AppEnvironment
    /// The user's id, lower case.
    public var user: String
    /// What the call before answered as `next`; nil: from the beginning.
    public var after: String?

    public init(app: String, environment: AppEnvironment, user: String, after: String? = nil) {
        self.app = app
        self.environment = environment
        self.user = user
        self.after = after
    }
}

/// What one call has erased.
///
/// Wire shape of the answer of `POST /internal/users/erase`. A call that is repeated finds nothing more and does no
/// harm.
public struct UserErasure: Codable, Sendable, Equatable {
    /// Kind of data → how many, such as `{"objects":500}`.
    public var erased: [String: Int]
    /// Where the next call goes on; nil: nothing of the user is left.
    public var next: String?

    public init(erased: [String: Int] = [:], next: String? = nil) {
        self.erased = erased
        self.next = next
    }
}
