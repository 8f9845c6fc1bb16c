import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /auth/login` with `userName` or `email`, `password`, and `device` if wanted; 200, signed in.
///
/// Who has a second factor also sends `code`, of the authenticator app or a recovery code; without one the answer to a
/// right password is 401 `second-factor-required`. Where the app demands verified addresses a right password without
/// one is 403. All other refusals are one.
struct LogIn: Endpoint {
    static let route = Route(
        .post, "/auth/login", "logIn", "Signs a user in by password.", callers: .client,
        details: """
            With `userName` or `email`. 401 `sign-in-failed` whatever is wrong; 429 after some failures.
            """,
        body: .json(
            .object(
                [
                    "userName": .string,
                    "email": .string.format("email"),
                    "password": .string.format("password"),
                    "code": .string.described("Of the second factor, or a recovery code."),
                    "device": .string.maxLength(200),
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.signIn))
        ])

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
            throw HTTPProblem(.invalidBody, "Either a user name or an e-mail address is required.", field: "userName")
        }
    }
}
