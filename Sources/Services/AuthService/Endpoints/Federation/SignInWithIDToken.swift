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
