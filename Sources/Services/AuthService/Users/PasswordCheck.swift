import Foundation
import Hummingbird
import MartletAPI
import MartletCore

/// Requires the password again before actions that a stolen access token must not allow.
struct PasswordCheck: Sendable {
    /// The meaning of 403 in the descriptions of routes that require the password.
    static let refusal =
        "The user has no password and did not sign in within the last ten minutes (`recent-sign-in-required`)."

    let users: UserStore
    let sessions: SessionStore
    let attempts: AttemptStore
    let hasher: PasswordHasher

    /// - Parameters:
    ///   - password: May be missing for users who have none.
    ///   - session: The calling session. A user without a password who has another way to sign in must have signed in
    ///     with this session within the last ten minutes.
    /// - Returns: The account that was checked.
    /// - Throws: `sign-in-failed`, `recent-sign-in-required`, `user-not-found`, `too-many-requests`, `invalid-body`.
    func confirm(_ password: Secret?, of user: UUID, in space: AppSpace, session: UUID? = nil) async throws
        -> UserStore.Account
    {
        guard let account = try await users.account(user, in: space) else { throw ServiceError(.userNotFound) }
        guard let hash = account.passwordHash else {
            if account.isAnonymous { return account }
            guard let session, try await sessions.isFresh(session, of: user) else {
                throw ServiceError(.recentSignInRequired)
            }
            return account
        }
        guard let password else { throw ServiceError(.invalidBody, "This field is required.", field: "password") }
        let limit = AttemptStore.Limit.account("id " + user.uuidString, in: space)
        guard try await attempts.guess(limit, { try await hasher.verify(password, against: hash) ? true : nil }) != nil
        else {
            throw ServiceError.wrongPassword
        }
        return account
    }

    /// Like `confirm`, but refuses users who have no password.
    ///
    /// - Throws: `conflict` for a user without a password, and the errors of `confirm`.
    func confirmPassword(_ password: Secret?, of user: UUID, in space: AppSpace) async throws -> UserStore.Account {
        guard let account = try await users.account(user, in: space) else { throw ServiceError(.userNotFound) }
        guard account.passwordHash != nil else {
            throw ServiceError(.conflict, "This user has no password; upgrade the account first.")
        }
        return try await confirm(password, of: user, in: space)
    }
}
