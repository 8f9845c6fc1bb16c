import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The last step of every staff sign-in: checking the second factor and creating the session. Refusals are recorded in
/// the audit log.
struct StaffSignInCompletion: Sendable {
    let sessions: SessionStore
    let attempts: AttemptStore
    let secondFactors: SecondFactorStore
    let signIns: SignIns
    let audit: AuditStore

    struct Attempt: Sendable {
        /// The code of the second factor.
        var code: String?
        var session: NewStaffSession
        /// See `Request.staffAddress`.
        var address: String
        /// The provider that authenticated the member; nil for the password.
        var provider: String?
        /// Decides in which form the tokens are returned.
        var request: Request
        /// Counted before; taken back if a code is required and missing.
        var limits: [AttemptStore.Limit] = []
    }

    /// Signs in a staff member who has been authenticated.
    ///
    /// - Parameter consume: Consumes the proof, so that it is used only once. Called after the second factor was
    ///   accepted or is not required. Returns false if the proof has been used already.
    /// - Throws: `second-factor-required` before anything is consumed; `sign-in-failed`, also if the member is disabled
    ///   or the password changed in the meantime; `too-many-requests`.
    func signIn(
        _ account: StaffStore.Account, _ attempt: Attempt, consume: () async throws -> Bool = { true }
    ) async throws -> Response {
        guard !account.isDisabled else { throw try await refusal(of: account.grant, attempt) }
        switch try await secondFactors.check(
            attempt.code, of: .staff(account.id, account.grant, address: attempt.address))
        {
        case .passed: break
        case .codeRequired:
            try await attempts.takeBack(attempt.limits)
            throw ServiceError(.secondFactorRequired)
        case .wrongCode: throw try await refusal(of: account.grant, attempt)
        }
        guard try await consume(),
            let json = try await sessions.create(
                attempt.session, of: account, by: attempt.provider, from: attempt.address)
        else { throw try await refusal(of: account.grant, attempt) }
        let issued = IssuedStaffSession(attempt.session, at: signIns.now())
        return try signIns.answer(issued, of: account.id, staff: json, to: attempt.request)
    }

    /// The error to throw for a failed sign-in, after recording it in the audit log.
    ///
    /// - Parameter staff: The member with the given name; nil if the name is unknown.
    func refusal(of staff: StaffGrant?, _ attempt: Attempt) async throws -> ServiceError {
        try await audit.recordFailedSignIn(of: staff, by: attempt.provider, from: attempt.address)
        return attempt.provider == nil ? .passwordRefused : .unusableProof
    }
}
