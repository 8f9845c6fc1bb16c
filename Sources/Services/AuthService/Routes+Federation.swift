import Hummingbird
import MartletHTTP

extension AuthService {
    /// Signing in by identity providers.
    func addFederationRoutes(to router: Router<ServiceContext>) {
        let signIn = FederatedSignIn(
            federation: federation, users: users, attempts: attempts, completion: completion, settings: mailing.settings
        )
        router.on(.post, "auth/idtoken", SignInWithIDToken(federation: federation, signIn: signIn))
        router.on(.post, "auth/oauth/finish", FinishOAuth(federation: federation, signIn: signIn))
        router.on(.post, "auth/oauth/:name/start", StartOAuth(federation: federation, attempts: attempts))
        router.on(.get, "auth/oauth/callback", OAuthCallback(federation: federation, logger: logger))
        router.on(.post, "auth/oauth/callback", OAuthCallback(federation: federation, logger: logger))

        router.on(.get, "auth/me/identities", ListIdentities(federation: federation))
        router.on(.post, "auth/me/identities", LinkIdentity(federation: federation, check: passwordCheck))
        router.on(
            .delete, "auth/me/identities/:name",
            UnlinkIdentity(federation: federation, check: passwordCheck, outbox: mailing.outbox))

        router.on(.get, "auth/providers", ListProviders(federation: federation))
        router.on(.put, "auth/providers/:name", SaveProvider(federation: federation))
        router.on(.delete, "auth/providers/:name", DeleteProvider(federation: federation))
    }
}
