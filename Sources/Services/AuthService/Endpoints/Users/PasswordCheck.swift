import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Asks for the password once more before what a stolen access token must not do.
struct PasswordCheck: Sendable {
    let users: UserStore
    let sessions: SessionStore
    let attempts: AttemptStore
    let hasher: PasswordHasher

    /// - Parameters:
    ///   - password: may be missing for those who have none.
    ///   - session: the one that asks. Who has no password but something else to sign in by must have done so in it
    ///     within the last ten minutes.
    /// - Returns: the account as it was found.
    /// - Throws: `sign-in-failed`, `recent-sign-in-required`, `user-not-found`, `too-many-requests`, `invalid-body`.
    func confirm(_ password: Secret?, of user: UUID, in space: UserSpace, session: UUID? = nil) async throws
        -> UserStore.Account
    {
        guard let account = try await users.account(user, in: space) else { throw HTTPProblem(.userNotFound) }
        guard let hash = account.passwordHash else {
            if account.isAnonymous { return account }
            guard let session, try await sessions.isFresh(session, of: user) else {
                throw HTTPProblem(.recentSignInRequired)
            }
            return account
        }
        guard let password else { throw HTTPProblem(.invalidBody, "This field is required.", field: "password") }
        let limit = AttemptStore.Limit.account("id " + user.uuidString, in: space)
        guard try await attempts.guess(limit, { try await hasher.verify(password, against: hash) ? true : nil }) != nil
        else {
            throw HTTPProblem.wrongPassword
        }
        return account
    }

    /// The same for what asks for a password to be there.
    ///
    /// - Throws: `conflict` for a user without a password.
    func confirmPassword(_ password: Secret?, of user: UUID, in space: UserSpace) async throws -> UserStore.Account {
        guard let account = try await users.account(user, in: space) else { throw HTTPProblem(.userNotFound) }
        guard account.passwordHash != nil else {
            throw HTTPProblem(.conflict, "This user has no password: upgrade first.")
        }
        return try await confirm(password, of: user, in: space)
    }
}
