/// All roles of an app's user, direct or inherited from other roles, sorted by name.
///
/// Wire shape of the answer of `POST /internal/users/roles`, which storage implements; its body is a `UserDataRequest`.
public struct UserRoles: Codable, Sendable, Equatable {
    /// At most a thousand.
    public var roles: [String]

    public init(roles: [String]) {
        self.roles = roles
    }
}
