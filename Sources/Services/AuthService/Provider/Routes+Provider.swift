import MartletHTTP

extension AuthService {
    /// The OpenID Connect provider: for other applications, for the app's server that manages them, and for users.
    func addProviderRoutes(to routes: inout RouteTable) {
        routes.section = .provider
        // Managed by the app's server
        routes.on(ListClients.route, ListClients(clients: provider.clients))
        routes.on(CreateClient.route, CreateClient(clients: provider.clients))
        routes.on(ReadClient.route, ReadClient(clients: provider.clients))
        routes.on(ChangeClient.route, ChangeClient(clients: provider.clients))
        routes.on(DeleteClient.route, DeleteClient(clients: provider.clients))
        routes.on(RenewClientSecret.route, RenewClientSecret(clients: provider.clients))

        // Grants of users
        routes.on(ListGrants.route, ListGrants(grants: provider.grants))
        routes.on(RemoveGrant.route, RemoveGrant(grants: provider.grants))

        // For browsers
        routes.on(Authorize.route, Authorize(flow: provider.flow))
        routes.on(RedirectToGet.route, RedirectToGet(issuers: provider.issuers, endpoint: "authorize"))
        routes.on(SubmitLogIn.route, SubmitLogIn(flow: provider.flow, byPassword: byPassword, sessions: sessions))
        routes.on(SubmitConsent.route, SubmitConsent(flow: provider.flow))
        routes.on(LogOutOfProvider.route, LogOutOfProvider(flow: provider.flow, sessions: sessions))
        routes.on(RedirectToGet.logOutOfProviderByForm, RedirectToGet(issuers: provider.issuers, endpoint: "logout"))
        routes.on(ConfirmLogOut.route, ConfirmLogOut(flow: provider.flow, sessions: sessions))

        // For clients
        routes.on(ReadProviderMetadata.route, ReadProviderMetadata(issuers: provider.issuers))
        routes.on(ReadProviderMetadata.readAuthorizationServerMetadata, ReadProviderMetadata(issuers: provider.issuers))
        routes.on(ReadProviderKeys.route, ReadProviderKeys(issuers: provider.issuers))
        routes.on(IssueTokens.route, issueTokens)
        routes.on(RevokeToken.route, provider.revokeToken)
        routes.on(IntrospectToken.route, provider.introspectToken)
        routes.on(ReadUserInfo.route, provider.readUserInfo)
        routes.on(ReadUserInfo.readUserInfoByPost, provider.readUserInfo)
    }
}
