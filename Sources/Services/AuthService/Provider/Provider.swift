import Foundation
import MartletPostgres

/// The parts of the OIDC provider's endpoints.
struct Provider: Sendable {
    let issuers: Issuers
    let clients: ClientStore
    let codes: AuthorizationCodeStore
    let grants: GrantStore
    let clientSessions: ClientSessionStore
    let authentication: ClientAuthentication
    let tokens: ProviderTokens
    let flow: AuthorizationFlow
    private let now: @Sendable () -> Date

    init(
        postgres: PostgresClient, feed: KeyRingFeed, keys: ServerKeys, publicURL: String,
        now: @escaping @Sendable () -> Date
    ) {
        issuers = Issuers(feed: feed, publicURL: publicURL)
        clients = ClientStore(postgres: postgres)
        codes = AuthorizationCodeStore(postgres: postgres)
        grants = GrantStore(postgres: postgres)
        clientSessions = ClientSessionStore(postgres: postgres)
        authentication = ClientAuthentication(clients: clients)
        tokens = ProviderTokens(key: keys.providerTokens)
        flow = AuthorizationFlow(
            issuers: issuers, clients: clients, codes: codes, grants: grants,
            cookies: ProviderCookies(sessions: clientSessions, tokens: tokens, formKey: keys.providerForms), now: now)
        self.now = now
    }

    private var clientTokens: ClientTokens { ClientTokens(tokens: tokens, sessions: clientSessions, now: now) }

    var readUserInfo: ReadUserInfo { ReadUserInfo(issuers: issuers, clientTokens: clientTokens) }
    var introspectToken: IntrospectToken {
        IntrospectToken(issuers: issuers, authentication: authentication, clientTokens: clientTokens)
    }
    var revokeToken: RevokeToken {
        RevokeToken(issuers: issuers, authentication: authentication, tokens: tokens, clientSessions: clientSessions)
    }
}
