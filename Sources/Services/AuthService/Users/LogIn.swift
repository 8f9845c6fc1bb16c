import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct LogIn: Endpoint {
    static let route = Route(
        .post, "/auth/login", "logIn", "Signs a user in with a password.", callers: .client,
        details: """
            Takes either `userName` or `email`. The answer to a wrong name, password or code is always \
            `sign-in-failed`, so that it does not reveal whether the account exists. If the account has a second \
            factor and `code` is missing, the answer to the right password is 401 with `second-factor-required`. \
            After several failures, further attempts are refused with 429 for a while.
            """,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "password": .string.format("password"),
                    "code": .string.described("A code from the authenticator app, or a recovery code."),
                    "device": .string.maxLength(200),
                ])),
        answers: [
            .answer(200, "The user is signed in.", .json(.signIn))
        ],
        errors: [403: "The app requires a verified address, and this account has none (`forbidden`)."])

    let byPassword: PasswordSignIn
    let signIns: SignIns

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["userName", "email", "password", "code", "device"])
        let attempt = PasswordSignIn.Attempt(
            identity: try identity(fields), password: Secret(try fields.requiredString("password")),
            code: try fields.string("code"),
            address: try context.clientAddress(of: request))
        let session = NewSession(device: try fields.device())
        let (userID, user) = try await byPassword.signIn(attempt, session: session, in: space)
        return try signIns.answer(session.id, userID: userID, user: user, in: space)
    }

    private func identity(_ fields: BodyFields) throws -> UserIdentity {
        switch (try fields.userName(), try fields.email()) {
        case (let name?, nil): return .userName(name)
        case (nil, let address?): return .email(address)
        default:
            throw ServiceError(.invalidBody, "Expected either userName or email.", field: "userName")
        }
    }
}
