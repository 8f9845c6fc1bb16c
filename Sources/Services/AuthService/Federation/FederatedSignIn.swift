import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Signs in whoever has shown who they are elsewhere, with the account that this leads to, or a new one.
///
/// An account is found by the identity; else by the address, when provider and account have both verified it. An
/// account with the address that nobody has verified is handed over to the owner of the address, and whoever made it is
/// locked out (see `IdentityStore.claim`).
struct FederatedSignIn: Sendable {
    /// Others may sign in at the same time, so that what was looked up is not so any more.
    private static let maximumAttempts = 3

    let federation: Federation
    let users: UserStore
    let attempts: AttemptStore
    let completion: SignInCompletion
    let settings: AppSettingsStore

    /// - Parameter code: of the second factor.
    func signIn(
        _ proof: SignInProof, code: String?, session: NewSession, _ request: Request, _ context: ServiceContext
    ) async throws -> Response {
        let space = try context.userSpace
        let (identity, identities) = (proof.identity, federation.identities)
        var isTaken = false
        func take() async throws -> Bool {
            if !isTaken { isTaken = try await proof.take() }
            return isTaken
        }
        for _ in 0..<Self.maximumAttempts {
            var response: Response?
            switch try await identities.owner(of: identity, in: space) {
            case .user(let user), .address(let user):
                response = try await completion.signIn(user, code: code, session: session, in: space) {
                    guard try await take() else { return false }
                    try await identities.link(identity, to: user, in: space)
                    return true
                }
            case .unproven(let user):
                guard try await take() else { throw HTTPProblem.spentProof }
                if try await identities.claim(user, for: identity, in: space) {
                    response = try await completion.signIn(user, code: nil, session: session, in: space) { true }
                }
            case .nobody:
                try await attempts.begin(context.nameLimits(of: request))
                guard try await take() else { throw HTTPProblem.spentProof }
                response = try await signUp(identity, session, in: space)
            }
            guard let response else { continue }
            try await proof.finish()
            return response
        }
        throw HTTPProblem(.conflict, "This account changed while it was signed in to: try again.")
    }

    /// Nil: somebody was faster.
    private func signUp(_ identity: ProvenIdentity, _ session: NewSession, in space: UserSpace) async throws
        -> Response?
    {
        // A provider's word for the address is as good as a mail; an invitation cannot be shown here.
        let settings = try await settings.current(in: space).settings
        try settings.checkSignUpWithoutInvitation()
        try settings.check(identity.verifiedEmail)
        // What people are called is not for everybody to see unless they say so.
        let name = identity.name.map { #"{"name":\#(JSONValue.quote($0))}"# }
        let user = NewUser(
            email: identity.verifiedEmail, privateProfile: name ?? "{}", isEmailVerified: identity.verifiedEmail != nil,
            identity: identity)
        do {
            let made = try await users.create(user, session: session, in: space)
            return try completion.signIns.answer(
                session.id, userID: made.id, user: made.json, in: space, status: .created)
        } catch let problem as HTTPProblem where problem.code == .conflict {
            return nil
        }
    }
}
