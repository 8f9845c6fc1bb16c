import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /admin/auth/login` with `userName`, `password`, and if wanted `code`, `device`, `staySignedIn`; 200 with
/// tokens and the staff member.
///
/// Refusals are those of `LogIn`: the same, and after the same work, whether the name is nobody's, disabled, or the
/// password another one. Who must choose another password signs in, and can do nothing else before (`mustReset`).
struct StaffLogIn: Endpoint {
    static let route = Route(
        .post, "/admin/auth/login", "logStaffIn", "Signs a staff member in.", callers: .staffSigningIn,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "password": .string.format("password"),
                    "code": .string.described("Of the authenticator app, or a recovery code."),
                    "device": .string.maxLength(200),
                    "staySignedIn": .boolean.defaulting(to: false),
                ], required: ["userName", "password"]
            ).closed),
        answers: [
            .answer(200, "Signed in.", .json(.staffTokens))
        ])

    let staff: StaffStore
    let hasher: PasswordHasher
    let completion: StaffSignInCompletion

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.checkStaffRoute()
        let fields = try await BodyFields(request, ["userName", "password", "code", "device", "staySignedIn"])
        let name = try StaffName(try fields.requiredString("userName"))
        let password = Secret(try fields.requiredString("password"))
        let session = NewStaffSession(
            device: try fields.device(), staysSignedIn: try fields.flag("staySignedIn") ?? false)
        let attempt = StaffSignInCompletion.Attempt(
            code: try fields.string("code"), session: session, address: request.staffAddress)

        let (account, address) = (
            AttemptStore.Limit.staffAccount(name.text), AttemptStore.Limit.staffAddress(attempt.address)
        )
        let (limits, attempts) = ([address, account], completion.attempts)
        let (found, matches) = try await attempts.counting(limits) {
            let found = try await staff.account(name)
            return (found, try await hasher.verify(password, against: found?.passwordHash))
        }
        guard matches, let found else { throw try await completion.refusal(of: found?.grant, attempt) }
        let response: Response
        do {
            response = try await completion.signIn(found, attempt)
        } catch let problem as HTTPProblem where problem.code == .secondFactorRequired {
            try await attempts.takeBack(limits)
            throw problem
        }
        try await attempts.succeed(account: account, address: address)
        return response
    }
}
