/// The user whose data a service is to erase or export, and where to continue.
///
/// Wire shape of the bodies of `POST /internal/users/erase` and `POST /internal/users/export`, which every service
/// implements.
public struct UserDataRequest: Codable, Sendable, Hashable {
    /// The app's id.
    public var app: String
    public var environment: AppEnvironment
    /// The user's id, lower case.
    public var user: String
    /// `next` of the previous answer; nil to start at the beginning.
    public var after: String?

    public init(app: String, environment: AppEnvironment, user: String, after: String? = nil) {
        self.app = app
        self.environment = environment
        self.user = user
        self.after = after
    }
}

/// The number of items erased by one call.
///
/// Wire shape of the answer of `POST /internal/users/erase`. Idempotent: a repeated call finds nothing left to erase.
public struct UserErasure: Codable, Sendable, Equatable {
    /// Kind of data → number of erased items, such as `{"objects":500}`.
    public var erased: [String: Int]
    /// Where the next call continues; nil if no data of the user is left.
    public var next: String?

    public init(erased: [String: Int] = [:], next: String? = nil) {
        self.erased = erased
        self.next = next
    }
}
