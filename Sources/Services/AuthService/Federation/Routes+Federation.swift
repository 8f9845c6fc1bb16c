import MartletHTTP

extension AuthService {
    /// Signing in at identity providers.
    func addFederationRoutes(to routes: inout RouteTable) {
        let signIn = FederatedSignIn(
            federation: federation, users: users, attempts: attempts, completion: completion, settings: mailing.settings
        )
        routes.section = .users
        routes.on(SignInWithIDToken.route, SignInWithIDToken(federation: federation, signIn: signIn))
        routes.on(FinishOAuth.route, FinishOAuth(federation: federation, signIn: signIn))
        routes.on(StartOAuth.route, StartOAuth(federation: federation, attempts: attempts))
        routes.on(OAuthCallback.route, OAuthCallback(federation: federation, logger: logger))
        routes.on(OAuthCallback.returnFromOAuthByForm, OAuthCallback(federation: federation, logger: logger))

        routes.on(ListIdentities.route, ListIdentities(federation: federation))
        routes.on(LinkIdentity.route, LinkIdentity(federation: federation, check: passwordCheck))
        routes.on(
            UnlinkIdentity.route, UnlinkIdentity(federation: federation, check: passwordCheck, outbox: mailing.outbox))

        routes.on(ListProviders.route, ListProviders(federation: federation))
        routes.on(SaveProvider.route, SaveProvider(federation: federation))
        routes.on(DeleteProvider.route, DeleteProvider(federation: federation))
    }
}
