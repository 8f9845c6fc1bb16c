import Foundation
import MartletAPI
public import MartletCore
import NIOCore
import Synchronization

/// The names of the roles that users have, for services other than storage, which has them: asked for when they are needed and remembered for ten
/// seconds, so that a change counts everywhere as late as in storage itself.
public final class RoleNames: Sendable {
    public static let validity: Duration = .seconds(10)
    private static let maximumRemembered = 20_000
    /// A thousand names of 64 characters.
    private static let maximumAnswerSizeInBytes = 128 << 10

    private let load: @Sendable (UserDataRequest) async throws -> UserRoles
    private let remembered = Mutex<[UserDataRequest: (roles: [String], until: ContinuousClock.Instant)]>([:])

    /// - Parameter load: asks for the roles of one user.
    init(load: @escaping @Sendable (UserDataRequest) async throws -> UserRoles) {
        self.load = load
    }

    public convenience init(of storage: ServiceAddress, calls: ServiceCalls) {
        self.init { user in
            let answer = try await calls.post("/internal/users/roles", user, to: storage, upTo: Self.maximumAnswerSizeInBytes)
            return try JSONDecoder().decode(UserRoles.self, from: Data(answer.body.readableBytesView))
        }
    }

    /// Also through other roles, in the order of their names; none where nobody is signed in.
    ///
    /// - Throws: as `ServiceCalls.post`, where nothing is remembered: whether roles that are not known count as none is for the caller to say.
    public func roles(of principal: Principal) async throws -> [String] {
        guard let id = principal.userID else { return [] }
        let user = UserDataRequest(app: principal.appID, environment: principal.environment, user: id)
        let now = ContinuousClock.now
        if let known = remembered.withLock({ $0[user] }), known.until > now { return known.roles }
        let roles = try await load(user).roles
        remembered.withLock { remembered in
            if remembered.count >= Self.maximumRemembered { remembered.removeAll() }
            remembered[user] = (roles, now + Self.validity)
        }
        return roles
    }
}
