import Foundation
import MartletAPI
import MartletCore

/// Signs a user in by name, password and, if active, second factor.
///
/// The refusal is the same and takes the same time, whether the account does not exist, is disabled, has no password or
/// has another password.
struct PasswordSignIn: Sendable {
    let users: UserStore
    let sessions: SessionStore
    let attempts: AttemptStore
    let signInAddresses: SignInAddressStore
    let hasher: PasswordHasher
    let completion: SignInCompletion
    let settings: AppSettingsStore

    struct Attempt: Sendable {
        var identity: UserIdentity
        var password: Secret
        /// The code of the second factor.
        var code: String?
        /// The client's address for limits; nil for the app's own server.
        var address: String?
    }

    /// - Returns: The user's id and own view.
    /// - Throws: `sign-in-failed`, `second-factor-required`, `too-many-requests`; `forbidden` if the app requires a
    ///   verified address.
    func signIn(_ attempt: Attempt, session: NewSession, in space: AppSpace) async throws -> (
        userID: UUID, user: String
    ) {
        let account = try await limit(attempt, in: space)
        let address = attempt.address.map { AttemptStore.Limit.address($0, in: space) }
        // An attempt from an address that must wait does not count against the account.
        let limits = [address, account].compactMap(\.self)
        let (found, matches) = try await attempts.counting(limits) {
            let found = try await users.account(attempt.identity, in: space)
            return (found, try await hasher.verify(attempt.password, against: found?.passwordHash))
        }
        guard matches, let found, !found.isDisabled else { throw ServiceError.passwordRefused }
        do {
            _ = try await settings.current(in: space) { try $0.checkSignIn(isEmailVerified: found.isEmailVerified) }
        } catch {
            // The password was right, so the attempt did not fail.
            try await attempts.takeBack(limits)
            throw error
        }
        switch try await completion.secondFactors.check(attempt.code, of: .user(found.id, space)) {
        case .passed: break
        case .codeRequired:
            try await attempts.takeBack(limits)
            throw ServiceError(.secondFactorRequired)
        case .wrongCode: throw ServiceError.passwordRefused
        }
        guard let user = try await open(session, of: found, attempt.password, in: space) else {
            throw ServiceError.passwordRefused
        }
        try await attempts.succeed(account: account, address: address)
        await renewHash(of: found, attempt.password)
        // If this fails, the owner may have to wait once while others guess the password.
        if let address = attempt.address { try? await signInAddresses.record(address, of: found.id, in: space) }
        await completion.notice.send(found.id, session, in: space)
        return (found.id, user)
    }

    private func limit(_ attempt: Attempt, in space: AppSpace) async throws -> AttemptStore.Limit {
        guard let address = attempt.address,
            try await signInAddresses.isKnown(address, of: attempt.identity, in: space)
        else {
            return .account(attempt.identity.text, in: space)
        }
        return .account(attempt.identity.text, from: address, in: space)
    }

    /// - Returns: The user's own view; nil if the account was disabled or the password changed in the meantime.
    private func open(_ session: NewSession, of found: UserStore.Account, _ password: Secret, in space: AppSpace)
        async throws -> String?
    {
        if let user = try await sessions.create(session, of: found) { return user }
        // A concurrent log-in may have just renewed the hash.
        guard let outdated = found.passwordHash, PasswordHash.isOutdated(outdated),
            let again = try await users.account(found.id, in: space),
            again.passwordHash != outdated, try await hasher.verify(password, against: again.passwordHash)
        else { return nil }
        return try await sessions.create(session, of: again)
    }

    /// Renews the hash while the password is available. If this fails, the next log-in does it.
    private func renewHash(of account: UserStore.Account, _ password: Secret) async {
        guard let former = account.passwordHash, PasswordHash.isOutdated(former),
            let hash = try? await hasher.hash(password)
        else { return }
        try? await users.renewPassword(hash, insteadOf: former, of: account.id)
    }
}

extension ServiceError {
    /// The same refusal whichever of the name, password and code is wrong, and whether or not the account exists.
    static let passwordRefused = ServiceError(.signInFailed, "The name, password or code does not match an account.")

    /// For a signed-in user who had to give the password again.
    static let wrongPassword = ServiceError(.signInFailed, "The password is wrong.")

    /// For a one-time proof that has already been used, or an account that cannot be signed in to.
    static let unusableProof = ServiceError(
        .signInFailed, "This proof has been used before, or its account cannot be signed in to. Sign in again.")
}
