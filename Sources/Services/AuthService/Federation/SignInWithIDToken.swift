import Hummingbird
import MartletAPI
import MartletHTTP

/// An id token signs in once.
struct SignInWithIDToken: Endpoint {
    static let route = Route(
        .post, "/auth/idtoken", "signInWithIDToken", "Signs in with an id token that the app received on the device.",
        callers: .client,
        details: """
            For native Sign in with Apple, Google and others. An id token can be used once. If the account has a \
            second factor and `secondFactorCode` is missing, the answer is 401 with `second-factor-required`, \
            and the same call can be repeated with it.
            """,
        body: .json(
            .object(
                [
                    "provider": .string,
                    "idToken": .string.maxLength(16_384),
                    "nonce": .string.described(
                        """
                        The nonce whose SHA-256, in hexadecimal digits, is in the id token. Required unless the \
                        provider has `nonceRequired: false`.
                        """),
                    "authorizationCode": .string.described(
                        """
                        Apple's authorization code. With it, Apple's token can be revoked when the user is \
                        deleted.
                        """),
                    "name": .string.described(
                        """
                        The name of a new user, which Apple gives only to the app. Used if the id token has \
                        none.
                        """),
                    "secondFactorCode": .string,
                    "device": .string,
                ])),
        answers: [
            .answer(200, "The user is signed in.", .json(.signIn)),
            .answer(201, "A new user is signed in.", .json(.signIn)),
        ],
        errors: [
            403: "The app requires an invitation for signing up (`forbidden`).",
            409: "The account changed during the sign-in (`conflict`).",
        ])

    let federation: Federation
    let signIn: FederatedSignIn

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, Federation.idTokenFields.union(["secondFactorCode", "device"]))
        let (code, session) = (try fields.string("secondFactorCode"), NewSession(device: try fields.device()))
        // Tokens cannot be guessed, but verifying one is expensive.
        let limits = try context.clientAddress(of: request).map { [AttemptStore.Limit.address($0, in: space)] } ?? []
        try await signIn.attempts.begin(limits)
        let proof = try await federation.proof(ofIDToken: fields, context, in: space)
        try await signIn.attempts.takeBack(limits)
        return try await signIn.signIn(proof, code: code, session: session, request, context)
    }
}
