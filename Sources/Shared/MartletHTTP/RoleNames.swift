import Foundation
public import MartletAPI
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

    /// Somebody waits for an answer that needs the roles.
    private static let patience: Duration = .seconds(2)

    private struct State {
        var remembered: [UserDataRequest: (roles: [String], until: ContinuousClock.Instant)] = [:]
        /// Until when nobody is asked, and why.
        var pause: (until: ContinuousClock.Instant, cause: any Error)?
    }

    private let pause: Duration
    private let load: @Sendable (UserDataRequest) async throws -> UserRoles
    private let state = Mutex(State())

    /// - Parameters:
    ///   - pause: how long nobody is asked after an attempt that failed.
    ///   - load: asks for the roles of one user.
    public init(pause: Duration = .zero, load: @escaping @Sendable (UserDataRequest) async throws -> UserRoles) {
        self.pause = pause
        self.load = load
    }

    /// Asks storage; while that is away requests do not wait for it one after the other.
    public convenience init(of storage: ServiceAddress, calls: ServiceCalls) {
        self.init(pause: .seconds(1)) { user in
            let answer = try await calls.post(
                "/internal/users/roles", user, to: storage, upTo: Self.maximumAnswerSizeInBytes, within: Self.patience)
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
        let (known, pause) = state.withLock { ($0.remembered[user], $0.pause) }
        if let known, known.until > now { return known.roles }
        if let pause, pause.until > now { throw pause.cause }
        let roles = try await loaded(user)
        state.withLock { state in
            if state.remembered.count >= Self.maximumRemembered { state.remembered.removeAll() }
            state.remembered[user] = (roles, now + Self.validity)
        }
        return roles
    }

    private func loaded(_ user: UserDataRequest) async throws -> [String] {
        do {
            return try await load(user).roles
        } catch let error where !(error is CancellationError) {
            state.withLock { $0.pause = (ContinuousClock.now + pause, error) }
            throw error
        }
    }
}
