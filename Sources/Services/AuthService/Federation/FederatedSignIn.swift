import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Signs a user in with a proven identity from elsewhere, to the matching account or a new one.
///
/// The account is found by the identity, or else by the address if both the provider and the account have verified it.
/// An account with the same but unverified address is handed over to the owner of the address, and its creator is
/// locked out (see `IdentityStore.claim`).
struct FederatedSignIn: Sendable {
    /// Concurrent sign-ins can change the account between the look-up and its use.
    private static let maximumAttempts = 3

    let federation: Federation
    let users: UserStore
    let attempts: AttemptStore
    let completion: SignInCompletion
    let settings: AppSettingsStore

    /// - Parameter code: The code of the second factor.
    func signIn(
        _ proof: SignInProof, code: String?, session: NewSession, _ request: Request, _ context: ServiceContext
    ) async throws -> Response {
        let space = try context.userSpace
        let (identity, identities) = (proof.identity, federation.identities)
        var isConsumed = false
        func consumeProof() async throws -> Bool {
            if !isConsumed { isConsumed = try await proof.consume() }
            return isConsumed
        }
        for _ in 0..<Self.maximumAttempts {
            var response: Response?
            switch try await identities.owner(of: identity, in: space) {
            case .user(let user), .address(let user):
                response = try await completion.signIn(user, code: code, session: session, in: space) {
                    guard try await consumeProof() else { return false }
                    try await identities.link(identity, to: user, in: space)
                    return true
                }
            case .unverified(let user):
                guard try await consumeProof() else { throw ServiceError.unusableProof }
                if try await identities.claim(user, for: identity, in: space) {
                    response = try await completion.signIn(user, code: nil, session: session, in: space) { true }
                }
            case .nobody:
                try await attempts.begin(context.nameLimits(of: request))
                guard try await consumeProof() else { throw ServiceError.unusableProof }
                response = try await signUp(identity, session, in: space)
            }
            guard let response else { continue }
            try await proof.finish()
            return response
        }
        throw ServiceError(.conflict, "The account changed during the sign-in; try again.")
    }

    /// Nil if a concurrent request has created the account.
    private func signUp(_ identity: VerifiedIdentity, _ session: NewSession, in space: AppSpace) async throws
        -> Response?
    {
        // An address verified by the provider counts as verified by mail. An invitation cannot be given here.
        _ = try await settings.current(in: space) { settings in
            try settings.checkSignUpWithoutInvitation()
            try settings.check(identity.verifiedEmail)
        }
        // The name goes into the private profile: it is not public unless the user makes it so.
        let name = identity.name.map { #"{"name":\#(JSONValue.quote($0))}"# }
        let user = NewUser(
            email: identity.verifiedEmail, privateProfile: name ?? "{}", isEmailVerified: identity.verifiedEmail != nil,
            identity: identity)
        do {
            let created = try await users.create(user, session: session, in: space)
            return try completion.signIns.answer(
                session.id, userID: created.id, user: created.json, in: space, status: .created)
        } catch let problem as ServiceError where problem.code == .conflict {
            return nil
        }
    }
}
