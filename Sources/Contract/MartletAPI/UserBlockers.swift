/// The users who have blocked an app's user.
///
/// Wire shape of the answer of `POST /internal/users/blockers`, which storage implements; its body is a
/// `UserDataRequest`.
public struct UserBlockers: Codable, Sendable, Equatable {
    /// At most the first 10,000.
    public var blockers: [String]

    public init(blockers: [String]) {
        self.blockers = blockers
    }
}
