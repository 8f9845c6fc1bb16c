/// The roles that a user of an app has, also through other roles, in the order of their names.
///
/// Wire shape of the answer of `POST /internal/users/roles`, which storage has; its body is a `UserDataRequest`.
public struct UserRoles: Codable, Sendable, Equatable {
    /// A thousand at most.
    public var roles: [String]

    public init(roles: [String]) {
        self.roles = roles
    }
}
