import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/login` with `userName` or `email`, `password`, and `device` if wanted; 200, signed in.
///
/// Who has a second factor also sends `code`, of the authenticator app or a recovery code; without one the answer to a right password is
/// 401 `second-factor-required`.
/// The refusal is the same, and takes as long, whether the account does not exist, is disabled, has no password or another one.
struct LogIn: Endpoint {
    let users: UserStore
    let sessions: SessionStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let secondFactor: SecondFactorCheck
    let signIns: SignIns

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["userName", "email", "password", "code", "device"])
        let identity = try identity(fields)
        let password = Secret(try fields.requiredString("password"))
        let code = try fields.string("code")
        let session = NewSession(device: try fields.device())

        let account = AttemptStore.Limit.account(identity.text, in: space)
        let address = try context.clientAddress(of: request).map { AttemptStore.Limit.address($0, in: space) }
        // An address that has to wait does not count against the account.
        let limits = [address, account].compactMap(\.self)
        try await attempts.begin(limits)
        let (found, matches) = try await check(password, of: identity, limits, in: space)
        guard matches, let found, !found.isDisabled else { throw HTTPProblem(.signInFailed) }
        do {
            try await secondFactor.pass(code, of: found.id, in: space)
        } catch let problem as HTTPProblem where problem.code == .secondFactorRequired {
            // The password was right, and no code was looked at.
            try await attempts.takeBack(limits)
            throw problem
        }
        guard let user = try await open(session, of: found, password, in: space) else {
            throw HTTPProblem(.signInFailed)
        }
        try await attempts.succeed(account: account, address: address)
        await renewHash(of: found, password)
        return try signIns.answer(session.id, userID: found.id, user: user, in: space)
    }

    private func check(
        _ password: Secret, of identity: UserIdentity, _ limits: [AttemptStore.Limit], in space: UserSpace
    ) async throws -> (UserStore.Account?, Bool) {
        do {
            let found = try await users.account(identity, in: space)
            return (found, try await hasher.verify(password, against: found?.passwordHash))
        } catch {
            try await attempts.takeBack(limits)
            throw error
        }
    }

    /// - Returns: the user as they see themselves; nil: disabled, or the password was changed meanwhile.
    private func open(_ session: NewSession, of found: UserStore.Account, _ password: Secret, in space: UserSpace) async throws -> String? {
        if let user = try await sessions.create(session, of: found) { return user }
        // Another log-in may have renewed the hash just now.
        guard let outdated = found.passwordHash, PasswordHash.isOutdated(outdated), let again = try await users.account(found.id, in: space),
            again.passwordHash != outdated, try await hasher.verify(password, against: again.passwordHash)
        else { return nil }
        return try await sessions.create(session, of: again)
    }

    /// Only now the password is there to make a better hash of. When that fails, the next log-in does it.
    private func renewHash(of account: UserStore.Account, _ password: Secret) async {
        guard let former = account.passwordHash, PasswordHash.isOutdated(former), let hash = try? await hasher.hash(password) else { return }
        try? await users.renewPassword(hash, insteadOf: former, of: account.id)
    }

    private func identity(_ fields: BodyFields) throws -> UserIdentity {
        switch (try fields.userName(), try fields.email()) {
        case (let name?, nil): return .userName(name)
        case (nil, let address?): return .email(address)
        default: throw HTTPProblem(.invalidBody, "Either a user name or an e-mail address is required.", field: "userName")
        }
    }
}
