import Hummingbird
import MartletAPI
import MartletHTTP

/// The last step of every way for staff to sign in: the second factor, then the session. Whoever is refused is in the
/// audit log.
struct StaffSignInCompletion: Sendable {
    let sessions: StaffSessionStore
    let attempts: AttemptStore
    let secondFactor: SecondFactorCheck
    let signIns: StaffSignIns
    let audit: AuditStore

    struct Attempt: Sendable {
        /// Of the second factor.
        var code: String?
        var session: NewStaffSession
        /// As `Request.staffAddress`.
        var address: String
        /// Who has shown who they are; nil: the password.
        var provider: String?
    }

    /// Signs in who has shown who they are.
    ///
    /// - Parameter consume: takes what that was shown by, so that it counts once; called when the second factor was
    ///   right or is not asked for. False: it has been taken meanwhile.
    /// - Throws: `second-factor-required` before anything is consumed; `sign-in-failed` also when the member is
    ///   disabled or the password was changed meanwhile; `too-many-requests`.
    func signIn(
        _ account: StaffStore.Account, _ attempt: Attempt, consume: () async throws -> Bool = { true }
    ) async throws -> Response {
        guard !account.isDisabled else { throw try await refusal(of: account.grant, attempt) }
        do {
            try await secondFactor.pass(attempt.code, of: account.id, counting: .staffCode(of: account.id))
        } catch let problem as HTTPProblem where problem.code == .signInFailed {
            throw try await refusal(of: account.grant, attempt)
        }
        guard try await consume(),
            let json = try await sessions.create(
                attempt.session, of: account, by: attempt.provider, from: attempt.address)
        else { throw try await refusal(of: account.grant, attempt) }
        return try signIns.answer(attempt.session.id, of: account.id, staff: json)
    }

    /// What to throw when the sign-in failed, once it is in the audit log.
    ///
    /// - Parameter staff: whose name it was; nil: nobody's.
    func refusal(of staff: StaffGrant?, _ attempt: Attempt) async throws -> HTTPProblem {
        try await audit.recordFailedSignIn(of: staff, by: attempt.provider, from: attempt.address)
        return attempt.provider == nil ? .passwordRefused : .spentProof
    }
}
