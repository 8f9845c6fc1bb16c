import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /admin/auth/login` with `userName`, `password`, and if wanted `code`, `device`, `staySignedIn`; 200 with tokens and the staff member.
///
/// Refusals are those of `LogIn`: the same, and after the same work, whether the name is nobody's, disabled, or the password another one.
/// Who must choose another password signs in, and can do nothing else before (`mustReset`).
struct StaffLogIn: Endpoint {
    let staff: StaffStore
    let sessions: StaffSessionStore
    let attempts: AttemptStore
    let hasher: PasswordHasher
    let secondFactor: SecondFactorCheck
    let signIns: StaffSignIns

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.checkStaffRoute()
        let fields = try await BodyFields(request, ["userName", "password", "code", "device", "staySignedIn"])
        let name = try StaffName(try fields.requiredString("userName"))
        let password = Secret(try fields.requiredString("password"))
        let code = try fields.string("code")
        let session = NewStaffSession(device: try fields.device(), staysSignedIn: try fields.flag("staySignedIn") ?? false)

        let (account, address) = (AttemptStore.Limit.staffAccount(name.text), AttemptStore.Limit.staffAddress(request.staffAddress))
        let limits = [address, account]
        let (found, matches) = try await attempts.counting(limits) {
            let found = try await staff.account(name)
            return (found, try await hasher.verify(password, against: found?.passwordHash))
        }
        guard matches, let found, !found.isDisabled else { throw HTTPProblem(.signInFailed) }
        do {
            try await secondFactor.pass(code, of: found.id, counting: .staffCode(of: found.id))
        } catch let problem as HTTPProblem where problem.code == .secondFactorRequired {
            try await attempts.takeBack(limits)
            throw problem
        }
        guard let json = try await sessions.create(session, of: found, from: request.staffAddress) else { throw HTTPProblem(.signInFailed) }
        try await attempts.succeed(account: account, address: address)
        return try signIns.answer(session.id, of: found.id, staff: json)
    }
}
