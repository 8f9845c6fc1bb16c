import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /admin/auth/oidc/finish` with `code` of the callback and `codeVerifier`, `secondFactorCode`, `device` and
/// `staySignedIn` if wanted; 200 as after `StaffLogIn`.
///
/// Who is linked signs in. Who is not becomes a staff member without rights, where the provider is set up to do so for
/// the domain of their address; else the refusal is that of `StaffLogIn`.
struct FinishStaffOAuth: Endpoint {
    static let route = Route(
        .post, "/admin/auth/oidc/finish", "finishStaffOAuth",
        "Signs in with the code that the console was called with.", callers: .staffSigningIn,
        body: .json(
            .object(
                [
                    "code": .string,
                    "codeVerifier": .string.length(43, 128),
                    "secondFactorCode": .string,
                    "device": .string.maxLength(200),
                    "staySignedIn": .boolean.defaulting(to: false),
                ], required: ["code", "codeVerifier"]
            ).closed),
        answers: [
            .answer(200, "Signed in.", .json(.staffTokens))
        ],
        errors: [404: "Not found."])

    let federation: Federation
    let staff: StaffStore
    let hasher: PasswordHasher
    let completion: StaffSignInCompletion

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.checkStaffRoute()
        let fields = try await BodyFields(
            request, Federation.codeFields.union(["secondFactorCode", "device", "staySignedIn"]))
        let code = try fields.string("secondFactorCode")
        let session = NewStaffSession(
            device: try fields.device(), staysSignedIn: try fields.flag("staySignedIn") ?? false)
        let proof = try await federation.proof(ofCode: fields, in: .staff)
        let attempt = StaffSignInCompletion.Attempt(
            code: code, session: session, address: request.staffAddress, provider: proof.identity.provider)
        // Nobody comes in by one that was taken away since.
        guard let provider = try await federation.providers.find(proof.identity.provider, in: .staff) else {
            throw try await completion.refusal(of: nil, attempt)
        }
        let response: Response
        if let account = try await staff.account(of: proof.identity) {
            response = try await completion.signIn(account, attempt) {
                guard try await proof.take() else { return false }
                return try await staff.use(proof.identity, of: account.id)
            }
        } else {
            guard try await proof.take(),
                let account = try await newcomer(proof.identity, provider.settings, from: attempt.address)
            else {
                throw try await completion.refusal(of: nil, attempt)
            }
            response = try await completion.signIn(account, attempt)
        }
        try await completion.attempts.takeBack(try context.flowLimits(of: request, in: .staff))
        return response
    }

    private func newcomer(
        _ identity: ProvenIdentity, _ provider: IdentityProvider, from address: String
    ) async throws -> StaffStore.Account? {
        guard let email = identity.verifiedEmail, let domain = email.text.split(separator: "@").last,
            provider.allowedDomains?.contains(String(domain)) == true, let name = try? StaffName(email.text)
        else { return nil }
        // One that nobody knows, until they or others set another.
        let hash = try await hasher.hash(.random())
        return try await staff.create(name, passwordHash: hash, identity, from: address)
    }
}
