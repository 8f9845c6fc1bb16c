import Foundation
public import MartletAPI
public import MartletCore
import NIOCore
import Synchronization

/// What another service knows of users: asked for when it is needed and remembered for ten seconds, so that a change counts everywhere as late as
/// roles do in storage itself.
///
/// A service that does not answer holds nobody up: few ask at a time, a bounded number wait for their turn, and after a few failures without an answer
/// in between nobody asks for a while, nor waits. Then one tries.
public final class UserLookup<Value: Sendable>: Sendable {
    public static var validity: Duration { .seconds(10) }
    static var maximumRemembered: Int { 20_000 }
    static var maximumRememberedInBytes: Int { 32 << 20 }
    static var maximumValueInBytes: Int { 512 << 10 }

    private struct State {
        var remembered: [UserDataRequest: (value: Value, until: ContinuousClock.Instant)] = [:]
        var sizeInBytes = 0
        var breaker: LookupBreaker
    }

    private let size: @Sendable (Value) -> Int
    private let load: @Sendable (UserDataRequest) async throws -> Value
    private let semaphore: AsyncSemaphore
    private let state: Mutex<State>

    /// - Parameters:
    ///   - size: about how many bytes a value takes.
    ///   - load: asks for what is known of one user, within a time.
    public init(
        limits: LookupLimits = LookupLimits(), size: @escaping @Sendable (Value) -> Int = { _ in 500 },
        load: @escaping @Sendable (UserDataRequest) async throws -> Value
    ) {
        self.size = size
        self.load = load
        semaphore = AsyncSemaphore(limit: limits.underWay, maximumWaiting: limits.waiting, refusal: LookupsFull())
        state = Mutex(State(breaker: LookupBreaker(failures: limits.failures, pause: limits.pause)))
    }

    /// Nil where nobody is signed in.
    ///
    /// - Throws: as `ServiceCalls.post`, where nothing is remembered, or `LookupsFull`: what it means that it is not known is for the caller to say.
    public func value(of principal: Principal) async throws -> Value? {
        guard let id = principal.userID else { return nil }
        let user = UserDataRequest(app: principal.appID, environment: principal.environment, user: id)
        if let known = try remembered(user) { return known }
        return try await semaphore.withPermit {
            // Another request for the same user may have asked meanwhile, or all others failed.
            if let known = try remembered(user) { return known }
            let value = try await loaded(user)
            remember(value, of: user)
            return value
        }
    }

    /// - Throws: why nobody is asked.
    private func remembered(_ user: UserDataRequest) throws -> Value? {
        let now = ContinuousClock.now
        return try state.withLock { state in
            if let known = state.remembered[user], known.until > now { return known.value }
            try state.breaker.check(at: now)
            return nil
        }
    }

    private func remember(_ value: Value, of user: UserDataRequest) {
        let size = size(value)
        // A few of them would push out all others.
        guard size <= Self.maximumValueInBytes else { return }
        state.withLock { state in
            if state.remembered.count >= Self.maximumRemembered || state.sizeInBytes + size > Self.maximumRememberedInBytes {
                (state.remembered, state.sizeInBytes) = ([:], 0)
            }
            if let old = state.remembered.updateValue((value, .now + Self.validity), forKey: user) { state.sizeInBytes -= self.size(old.value) }
            state.sizeInBytes += size
        }
    }

    private func loaded(_ user: UserDataRequest) async throws -> Value {
        let isTrial = try state.withLock { try $0.breaker.begin(at: .now) }
        do {
            let value = try await load(user)
            state.withLock { $0.breaker.succeed() }
            return value
        } catch {
            state.withLock { state in
                if Self.isOutage(error) {
                    state.breaker.fail(error, isTrial: isTrial, at: .now)
                } else if isTrial {
                    state.breaker.giveUp()
                }
            }
            throw error
        }
    }

    /// What is wrong with one user's answer says nothing of others.
    private static func isOutage(_ error: any Error) -> Bool {
        switch error {
        case is CancellationError, OutgoingFailure.answerTooLarge, is DecodingError, is JSONError: false
        case ServiceCalls.Failure.status(let status, _): status >= 500 || status == 429
        default: true
        }
    }
}

/// Somebody waits for an answer that needs to know.
private let patience: Duration = .seconds(2)

/// The names of the roles that users have, for services other than storage, which has them.
public typealias RoleNames = UserLookup<UserRoles>

extension UserLookup where Value == UserRoles {
    /// Asks storage.
    public convenience init(of storage: ServiceAddress, calls: ServiceCalls) {
        self.init { user in
            // A thousand names of 64 characters.
            let answer = try await calls.post("/internal/users/roles", user, to: storage, upTo: 128 << 10, within: patience)
            return try JSONDecoder().decode(UserRoles.self, from: Data(answer.body.readableBytesView))
        }
    }

    /// Also through other roles, in the order of their names; none where nobody is signed in.
    public func roles(of principal: Principal) async throws -> [String] { try await value(of: principal)?.roles ?? [] }
}

/// What auth says of users to services: `{"profile":{…},"emailVerified":true,"anonymous":false}`. `profile` is what they say of themselves.
public typealias UserProfiles = UserLookup<JSONValue>

extension UserLookup where Value == JSONValue {
    /// A profile has 16 KiB at most, in which PostgreSQL writes out numbers such as 1e300.
    private static var maximumAnswerSizeInBytes: Int { 2 << 20 }

    /// Asks auth.
    public convenience init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init(size: { 4 * $0.text.utf8.count }) { user in
            let answer = try await calls.post("/internal/users/profile", user, to: auth, upTo: Self.maximumAnswerSizeInBytes, within: patience)
            return try JSONValue(parsing: answer.body.readableBytesView)
        }
    }
}
