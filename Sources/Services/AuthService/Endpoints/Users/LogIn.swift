import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/login` with `userName` or `email`, `password`, and `device` if wanted; 200, signed in.
///
/// Who has a second factor also sends `code`, of the authenticator app or a recovery code; without one the answer to a right password is
/// 401 `second-factor-required`. Where the app demands verified addresses a right password without one is 403.
/// The refusal is the same, and takes as long, whether the account does not exist, is disabled, has no password or another one.
struct LogIn: Endpoint {
    let users: UserStore
    let sessions: SessionStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let completion: SignInCompletion
    let settings: AppSettingsStore

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
        if !found.isEmailVerified, try await settings.current(in: space).settings.requireVerifiedEmail {
            try await attempts.takeBack(limits)
            throw HTTPProblem(.forbidden, "The e-mail address is not verified yet.")
        }
        do {
            try await completion.secondFactor.pass(code, of: found.id, in: space)
        } catch let problem as HTTPProblem where problem.code == .secondFactorRequired {
            // The password was right, and no code was looked at.
            try await attempts.takeBack(limits)
            throw problem
        }
        guard let user = try await sessions.create(session, of: found) else {
            throw HTTPProblem(.signInFailed)
        }
        try await attempts.succeed(account: account, address: address)
        await completion.notice.tell(found.id, session, in: space)
        return try completion.signIns.answer(session.id, userID: found.id, user: user, in: space)
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

    private func identity(_ fields: BodyFields) throws -> UserIdentity {
        switch (try fields.userName(), try fields.email()) {
        case (let name?, nil): return .userName(name)
        case (nil, let address?): return .email(address)
        default: throw HTTPProblem(.invalidBody, "Either a user name or an e-mail address is required.", field: "userName")
        }
    }
}
