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
    ///   - password: may be missing for a user who has none. Such a user has to have signed in just now; an anonymous one cannot, and need not.
    ///   - session: that of the access token.
    /// - Returns: the account as it was found.
    /// - Throws: `sign-in-failed`, `user-not-found`, `too-many-requests`, `invalid-body`, `recent-sign-in-required`.
    func confirm(_ password: Secret?, of user: UUID, session: UUID?, in space: UserSpace) async throws -> UserStore.Account {
        guard let account = try await users.account(user, in: space) else { throw HTTPProblem(.userNotFound) }
        guard let hash = account.passwordHash else {
            if !account.isAnonymous { try await confirmRecent(session, of: user) }
            return account
        }
        guard let password else { throw HTTPProblem(.invalidBody, "This field is required.", field: "password") }
        let limit = AttemptStore.Limit.account("id " + user.uuidString, in: space)
        try await attempts.begin([limit])
        let matches: Bool
        do {
            matches = try await hasher.verify(password, against: hash)
        } catch {
            try await attempts.takeBack([limit])
            throw error
        }
        guard matches else { throw HTTPProblem(.signInFailed) }
        try await attempts.succeed(account: limit, address: nil)
        return account
    }

    /// The same for what asks for something to sign in by to be there.
    ///
    /// - Throws: `conflict` for an anonymous user.
    func confirmPassword(_ password: Secret?, of user: UUID, session: UUID?, in space: UserSpace) async throws -> UserStore.Account {
        let account = try await confirm(password, of: user, session: session, in: space)
        guard !account.isAnonymous else { throw HTTPProblem(.conflict, "An anonymous user has no password: upgrade first.") }
        return account
    }

    private func confirmRecent(_ session: UUID?, of user: UUID) async throws {
        if let session, try await sessions.isRecent(session, of: user) { return }
        throw HTTPProblem(.recentSignInRequired)
    }
}
