import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /auth/idtoken` with `provider` and `idToken` as the app got it on the device (native Sign in with Apple,
/// Google, …); 200 signed in, 201 as a new user.
///
/// Further: `nonce`, when the app asked for the token with one; `authorizationCode` of Apple, so that Apple can be told
/// when the account goes; `name` for a new user, which Apple tells the app only; `secondFactorCode` and `device`. A
/// token signs in once.
struct SignInWithIDToken: Endpoint {
    static let route = Route(
        .post, "/auth/idtoken", "signInWithIDToken", "Signs in with an id token that the app got on the device.",
        callers: .client,
        body: .json(
            .object(
                [
                    "provider": .string,
                    "idToken": .string.maxLength(16_384),
                    "nonce": .string.described(
                        """
                        The token has its SHA-256 in hexadecimal digits. Required unless the provider has `nonceRequired: \
                        false`.
                        """),
                    "authorizationCode": .string.described("Apple's, so that its token can be revoked."),
                    "name": .string.described("Of a new user."),
                    "secondFactorCode": .string,
                    "device": .string,
                ]), isRequired: false),
        answers: [
            .answer(200, "Done.", .json(.signIn)),
            .answer(201, "A new user.", .json(.signIn)),
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let federation: Federation
    let signIn: FederatedSignIn

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, Federation.idTokenFields.union(["secondFactorCode", "device"]))
        let (code, session) = (try fields.string("secondFactorCode"), NewSession(device: try fields.device()))
        // Tokens cannot be guessed, but each is work.
        let limits = try context.clientAddress(of: request).map { [AttemptStore.Limit.address($0, in: space)] } ?? []
        try await signIn.attempts.begin(limits)
        let proof = try await federation.proof(ofIDToken: fields, context, in: space)
        try await signIn.attempts.takeBack(limits)
        return try await signIn.signIn(proof, code: code, session: session, request, context)
    }
}
