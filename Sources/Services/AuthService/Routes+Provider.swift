import Hummingbird
import MartletHTTP

extension AuthService {
    /// The OIDC provider: for other applications, for the app's server that manages them, and for its users.
    func addProviderRoutes(to router: Router<ServiceContext>) {
        // Managed by the app's server
        router.on(.get, "auth/clients", ListClients(clients: provider.clients))
        router.on(.post, "auth/clients", CreateClient(clients: provider.clients))
        router.on(.get, "auth/clients/:id", ReadClient(clients: provider.clients))
        router.on(.put, "auth/clients/:id", ChangeClient(clients: provider.clients))
        router.on(.delete, "auth/clients/:id", DeleteClient(clients: provider.clients))
        router.on(.post, "auth/clients/:id/secret", RenewClientSecret(clients: provider.clients))

        // What users have allowed
        router.on(.get, "auth/me/grants", ListGrants(grants: provider.grants))
        router.on(.delete, "auth/me/grants/:client", RemoveGrant(grants: provider.grants))

        // For browsers
        router.on(.get, "oidc/:app/authorize", Authorize(flow: provider.flow))
        router.on(.post, "oidc/:app/authorize", GoOnByGet(issuers: provider.issuers, endpoint: "authorize"))
        router.on(
            .post, "oidc/:app/login", SubmitLogIn(flow: provider.flow, byPassword: byPassword, sessions: sessions))
        router.on(.post, "oidc/:app/consent", SubmitConsent(flow: provider.flow))
        router.on(.get, "oidc/:app/logout", LogOutOfProvider(flow: provider.flow, sessions: sessions))
        router.on(.post, "oidc/:app/logout", GoOnByGet(issuers: provider.issuers, endpoint: "logout"))
        router.on(.post, "oidc/:app/logout/confirm", ConfirmLogOut(flow: provider.flow, sessions: sessions))

        // For clients
        router.on(.get, "oidc/:app/.well-known/openid-configuration", ReadProviderMetadata(issuers: provider.issuers))
        router.on(
            .get, "oidc/:app/.well-known/oauth-authorization-server", ReadProviderMetadata(issuers: provider.issuers))
        router.on(.get, "oidc/:app/jwks", ReadProviderKeys(issuers: provider.issuers))
        router.on(.post, "oidc/:app/token", issueTokens)
        router.on(.post, "oidc/:app/revoke", provider.revokeToken)
        router.on(.post, "oidc/:app/introspect", provider.introspectToken)
        router.on(.get, "oidc/:app/userinfo", provider.readUserInfo)
        router.on(.post, "oidc/:app/userinfo", provider.readUserInfo)
    }
}
