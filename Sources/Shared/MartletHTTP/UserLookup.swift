import Foundation
public import MartletAPI
public import MartletCore
import NIOCore
import Synchronization

/// Data about users from another service, loaded on demand and cached for ten seconds. Changes take effect with the
/// same delay as changes of roles in storage itself.
///
/// A service that does not answer blocks no caller for long: the number of concurrent look-ups and of waiting requests
/// is limited, and after a few consecutive failures no look-ups are made for a while. Then a single request tries
/// again.
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
    ///   - size: The approximate size of a value in bytes.
    ///   - load: Loads the data of one user, within a time limit.
    public init(
        limits: LookupLimits = LookupLimits(), size: @escaping @Sendable (Value) -> Int = { _ in 500 },
        load: @escaping @Sendable (UserDataRequest) async throws -> Value
    ) {
        self.size = size
        self.load = load
        semaphore = AsyncSemaphore(limit: limits.concurrent, maximumWaiting: limits.waiting, refusal: LookupsFull())
        state = Mutex(State(breaker: LookupBreaker(failures: limits.failures, pause: limits.pause)))
    }

    /// The value for the signed-in user; nil without one.
    ///
    /// - Throws: The errors of `ServiceCalls.post` if nothing is cached, or `LookupsFull`. The caller decides how to
    ///   proceed without a value.
    public func value(of principal: Principal) async throws -> Value? {
        guard let id = principal.userID else { return nil }
        let user = UserDataRequest(app: principal.appID, environment: principal.environment, user: id)
        if let known = try remembered(user) { return known }
        return try await semaphore.withPermit {
            // Another request for the same user may have loaded the value in the meantime, or the others may have
            // failed.
            if let known = try remembered(user) { return known }
            let value = try await loaded(user)
            remember(value, of: user)
            return value
        }
    }

    /// - Throws: The last failure, if no look-up may be made now.
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
        // A few values of this size would evict all others.
        guard size <= Self.maximumValueInBytes else { return }
        state.withLock { state in
            if state.remembered.count >= Self.maximumRemembered
                || state.sizeInBytes + size > Self.maximumRememberedInBytes
            {
                (state.remembered, state.sizeInBytes) = ([:], 0)
            }
            if let old = state.remembered.updateValue((value, .now + Self.validity), forKey: user) {
                state.sizeInBytes -= self.size(old.value)
            }
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

    /// An error in one user's answer says nothing about other users.
    private static func isOutage(_ error: any Error) -> Bool {
        switch error {
        case is CancellationError, OutgoingFailure.answerTooLarge, is DecodingError, is JSONError: false
        case ServiceCalls.Failure.status(let status, _): status >= 500 || status == 429
        default: true
        }
    }
}

/// Short, because a request is waiting for the answer.
private let lookupTimeout: Duration = .seconds(2)

/// The names of users' roles, for services other than storage, which owns them.
public typealias RoleNames = UserLookup<UserRoles>

extension UserLookup where Value == UserRoles {
    /// Loads role names from storage.
    public convenience init(of storage: ServiceAddress, calls: ServiceCalls) {
        self.init { user in
            // Enough for a thousand names of 64 characters.
            let answer = try await calls.post(
                "/internal/users/roles", user, to: storage, upTo: 128 << 10, within: lookupTimeout)
            return try JSONDecoder().decode(UserRoles.self, from: Data(answer.body.readableBytesView))
        }
    }

    /// All roles including inherited ones, sorted by name; empty if no user is signed in.
    public func roles(of principal: Principal) async throws -> [String] { try await value(of: principal)?.roles ?? [] }
}

/// What auth reports about users: `{"profile":{…},"emailVerified":true,"anonymous":false}`. Users choose the contents
/// of `profile` themselves.
public typealias UserProfiles = UserLookup<JSONValue>

extension UserLookup where Value == JSONValue {
    /// A profile has at most 16 KiB, but PostgreSQL writes out numbers such as 1e300.
    private static var maximumAnswerSizeInBytes: Int { 2 << 20 }

    /// Loads profiles from auth.
    public convenience init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init(size: { 4 * $0.text.utf8.count }) { user in
            let answer = try await calls.post(
                "/internal/users/profile", user, to: auth, upTo: Self.maximumAnswerSizeInBytes, within: lookupTimeout)
            return try JSONValue(parsing: answer.body.readableBytesView)
        }
    }
}
