import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Asks for the password once more before what a stolen access token must not do.
struct PasswordCheck: Sendable {
    let users: UserStore
    let attempts: AttemptStore
    let hasher: PasswordHasher

    /// - Parameter password: may be missing for an anonymous user only.
    /// - Returns: the account as it was found.
    /// - Throws: `sign-in-failed`, `user-not-found`, `too-many-requests`, `invalid-body`.
    func confirm(_ password: Secret?, of user: UUID, in space: UserSpace) async throws -> UserStore.Account {
        guard let account = try await users.account(user, in: space) else { throw HTTPProblem(.userNotFound) }
        guard let hash = account.passwordHash else { return account }
        guard let password else { throw HTTPProblem(.invalidBody, "This field is required.", field: "password") }
        let limit = AttemptStore.Limit.account("id " + user.uuidString, in: space)
        guard try await attempts.counting([limit], { try await hasher.verify(password, against: hash) }) else { throw HTTPProblem(.signInFailed) }
        try await attempts.succeed(account: limit, address: nil)
        return account
    }

    /// The same for what asks for a password to be there.
    ///
    /// - Throws: `conflict` for an anonymous user.
    func confirmPassword(_ password: Secret?, of user: UUID, in space: UserSpace) async throws -> UserStore.Account {
        let account = try await confirm(password, of: user, in: space)
        guard account.passwordHash != nil else { throw HTTPProblem(.conflict, "An anonymous user has no password: upgrade first.") }
        return account
    }
}
