import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// Signs in the member with the identity. An unknown identity becomes a new member without rights if the provider
/// allows the domain of its verified address; otherwise the refusal is `sign-in-failed`.
struct FinishStaffOAuth: Endpoint {
    static let route = Route(
        .post, "/admin/auth/oidc/finish", "finishStaffOAuth",
        "Completes a staff member's sign-in at a provider.", callers: .staffSigningIn,
        parameters: [.dashboard],
        details: """
            `code` is the one from the redirect to the dashboard. If the member has a second factor and \
            `secondFactorCode` is missing, the answer is 401 with `second-factor-required`, and the same call \
            can be repeated with it. An unknown identity becomes a new member without rights if its verified \
            address is in one of the provider's `allowedDomains`.
            """,
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
            .answer(200, "The staff member is signed in.", .json(.staffTokens))
        ])

    let federation: Federation
    let staff: StaffStore
    let hasher: PasswordHasher
    let completion: StaffSignInCompletion

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(
            request, Federation.codeFields.union(["secondFactorCode", "device", "staySignedIn"]))
        let code = try fields.string("secondFactorCode")
        let session = NewStaffSession(
            device: try fields.device(), staysSignedIn: try fields.flag("staySignedIn") ?? false)
        let proof = try await federation.proof(ofCode: fields, in: .staff)
        let attempt = StaffSignInCompletion.Attempt(
            code: code, session: session, address: request.staffAddress, provider: proof.identity.provider,
            request: request)
        // A provider that was deleted during the sign-in can no longer authenticate anyone.
        guard let provider = try await federation.providers.find(proof.identity.provider, in: .staff) else {
            throw try await completion.refusal(of: nil, attempt)
        }
        let response: Response
        if let account = try await staff.account(of: proof.identity) {
            response = try await completion.signIn(account, attempt) {
                guard try await proof.consume() else { return false }
                return try await staff.use(proof.identity, of: account.id)
            }
        } else {
            guard try await proof.consume(),
                let account = try await createAccount(proof.identity, provider.settings, from: attempt.address)
            else {
                throw try await completion.refusal(of: nil, attempt)
            }
            response = try await completion.signIn(account, attempt)
        }
        try await completion.attempts.takeBack(try context.flowLimits(of: request, in: .staff))
        return response
    }

    private func createAccount(
        _ identity: VerifiedIdentity, _ provider: IdentityProvider, from address: String
    ) async throws -> StaffStore.Account? {
        guard let email = identity.verifiedEmail, let domain = email.text.split(separator: "@").last,
            provider.allowedDomains?.contains(String(domain)) == true, let name = try? StaffName(email.text)
        else { return nil }
        // A random password that no one knows, until another is set.
        let hash = try await hasher.hash(.random())
        return try await staff.create(name, passwordHash: hash, identity, from: address)
    }
}
