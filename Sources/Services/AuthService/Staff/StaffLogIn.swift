import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The refusal is the same and takes the same time whether the member does not exist, is disabled or has another
/// password.
struct StaffLogIn: Endpoint {
    static let route = Route(
        .post, "/admin/auth/login", "logStaffIn", "Signs a staff member in with a password.", callers: .staffSigningIn,
        parameters: [.dashboard],
        details: """
            If the member has a second factor and `code` is missing, the answer to the right password is 401 \
            with `second-factor-required`. A member with `mustReset` is signed in, but can only choose another \
            password or log out.
            """,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "password": .string.format("password"),
                    "code": .string.described("A code from the authenticator app, or a recovery code."),
                    "device": .string.maxLength(200),
                    "staySignedIn": .boolean.defaulting(to: false),
                ], required: ["userName", "password"]
            ).closed),
        answers: [
            .answer(200, "The staff member is signed in.", .json(.staffTokens))
        ])

    let staff: StaffStore
    let hasher: PasswordHasher
    let completion: StaffSignInCompletion

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(request, ["userName", "password", "code", "device", "staySignedIn"])
        let name = try StaffName(try fields.requiredString("userName"))
        let password = Secret(try fields.requiredString("password"))
        let session = NewStaffSession(
            device: try fields.device(), staysSignedIn: try fields.flag("staySignedIn") ?? false)
        var attempt = StaffSignInCompletion.Attempt(
            code: try fields.string("code"), session: session, address: request.staffAddress,
            request: request)

        let (account, address) = (
            AttemptStore.Limit.staffAccount(name.text), AttemptStore.Limit.staffAddress(attempt.address)
        )
        attempt.limits = [address, account]
        let (found, matches) = try await completion.attempts.counting(attempt.limits) {
            let found = try await staff.account(name)
            return (found, try await hasher.verify(password, against: found?.passwordHash))
        }
        guard matches, let found else { throw try await completion.refusal(of: found?.grant, attempt) }
        let response = try await completion.signIn(found, attempt)
        try await completion.attempts.succeed(account: account, address: address)
        return response
    }
}
