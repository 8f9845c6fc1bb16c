import Crypto
import Foundation
import MartletCore

/// The authorization code flow with a provider (RFC 6749 §4.1), with PKCE (RFC 7636) and a nonce (OpenID Connect Core
/// 1.0 §3.1.2.1).
struct CodeFlow: Sendable {
    let directory: ProviderDirectory
    let verifier: IDTokenVerifier
    let client: ProviderClient
    /// Derives the nonce and code verifier from the state, so that neither is stored.
    let key: SymmetricKey
    /// The URL at which clients reach the gateway.
    let publicURL: String
    let now: @Sendable () -> Date

    /// The callback URL to register with the provider; nil if the settings name no app key.
    func callbackURL(of provider: RegisteredProvider) -> String? { provider.callbackPath.map { publicURL + $0 } }

    /// The URL to send the user to.
    ///
    /// - Throws: `ProviderFailure`.
    func authorizationURL(of provider: RegisteredProvider, state: String) async throws -> String {
        let settings = provider.settings
        let addresses = try await directory.addresses(of: settings)
        guard let address = addresses.authorization else { throw ProviderFailure.missing("authorization endpoint") }
        // The app opens this address, so only a web address is accepted, whatever the issuer publishes.
        try client.host(of: address)
        guard let callback = callbackURL(of: provider) else { throw ProviderFailure.missing("appKey") }
        var fields = [
            ("response_type", "code"), ("client_id", settings.clientIDs[0]), ("redirect_uri", callback),
            ("scope", settings.scopes.joined(separator: " ")), ("state", state),
            ("code_challenge", CodeChallenge.s256(codeVerifier(state))), ("code_challenge_method", "S256"),
        ]
        if settings.kind.givesIDTokenForCode { fields.append(("nonce", nonce(state))) }
        // Apple returns the name and address only in a posted form.
        if settings.kind == .apple, !settings.scopes.isEmpty { fields.append(("response_mode", "form_post")) }
        return address + (address.contains("?") ? "&" : "?") + FormBody.encode(fields)
    }

    /// The identity of the returning user, as confirmed by the provider.
    ///
    /// - Parameter answer: The parameters that the provider sent.
    /// - Throws: `ProviderFailure`, `IDTokenRefusal`.
    func identity(from answer: [String: String], state: String, of provider: RegisteredProvider) async throws
        -> VerifiedIdentity
    {
        let settings = provider.settings
        let addresses = try await directory.addresses(of: settings)
        // RFC 9207: a different issuer means that the answer is not from the provider of this flow.
        if let issuer = answer["iss"], issuer != addresses.issuer { throw ProviderFailure.refused("iss") }
        guard let code = answer["code"], let callback = callbackURL(of: provider) else {
            throw ProviderFailure.malformedAnswer
        }
        let tokens = try await tokens(
            for: [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", callback),
                ("code_verifier", codeVerifier(state)),
            ], clientID: settings.clientIDs[0], provider, addresses)
        switch settings.kind {
        case .github: return try await gitHubIdentity(tokens, provider, addresses)
        case .facebook: return try await facebookIdentity(tokens, provider, addresses)
        case .google, .apple, .oidc:
            guard let text = tokens.string("id_token") else { throw ProviderFailure.malformedAnswer }
            let token = try await verifier.verify(
                text, of: addresses, for: [settings.clientIDs[0]], nonce: .own(nonce(state)))
            var identity = VerifiedIdentity(
                provider: provider, issuer: addresses.issuer, subject: token.subject, email: token.email,
                isEmailVerified: token.isEmailVerified,
                name: token.name ?? Self.appleName(answer["user"]))
            if token.email == nil { try await addUserInfo(tokens, to: &identity, provider, addresses) }
            identity.refreshToken =
                settings.kind == .apple
                ? tokens.string("refresh_token").map { RevocableToken(token: $0, clientID: token.clientID) } : nil
            return identity
        }
    }

    /// Apple's refresh token for the code that an app received on the device along with the id token.
    ///
    /// - Throws: `ProviderFailure`, `IDTokenRefusal`.
    func refreshToken(forAppCode code: String, clientID: String, subject: String, _ provider: RegisteredProvider)
        async throws -> RevocableToken?
    {
        let addresses = try await directory.addresses(of: provider.settings)
        let tokens = try await tokens(
            for: [("grant_type", "authorization_code"), ("code", code)], clientID: clientID, provider, addresses)
        guard let text = tokens.string("id_token"),
            try await verifier.verify(text, of: addresses, for: [clientID], nonce: nil).subject == subject
        else { throw ProviderFailure.malformedAnswer }
        return tokens.string("refresh_token").map { RevocableToken(token: $0, clientID: clientID) }
    }

    /// Revokes a token (RFC 7009) in the way Apple requires.
    ///
    /// - Throws: `ProviderFailure`.
    func revoke(_ token: RevocableToken, at provider: RegisteredProvider) async throws {
        let addresses = try await directory.addresses(of: provider.settings)
        guard let address = addresses.revocation else { throw ProviderFailure.missing("revocation endpoint") }
        let form = [("token", token.token), ("token_type_hint", "refresh_token")]
        let answer = try await post(address, form, clientID: token.clientID, provider, addresses)
        guard answer.status == 200 else {
            throw answer.json?.string("error").map { ProviderFailure.refused($0) }
                ?? ProviderFailure.status(answer.status)
        }
    }

    // MARK: Values derived from the state

    private func nonce(_ state: String) -> String { derive("nonce", state) }

    /// 43 characters (RFC 7636 §4.1).
    private func codeVerifier(_ state: String) -> String { derive("code verifier", state) }

    private func derive(_ purpose: String, _ state: String) -> String {
        Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Data("\(purpose) \(state)".utf8), using: key))
    }

    // MARK: Requests to the provider

    private func tokens(
        for form: [(String, String)], clientID: String, _ provider: RegisteredProvider, _ addresses: ProviderAddresses
    ) async throws -> JSONValue {
        guard let address = addresses.token else { throw ProviderFailure.missing("token endpoint") }
        let answer = try await post(address, form, clientID: clientID, provider, addresses)
        // GitHub reports errors with status 200.
        if let code = answer.json?.string("error") { throw ProviderFailure.refused(code) }
        guard answer.status == 200 else { throw ProviderFailure.status(answer.status) }
        guard let tokens = answer.json else { throw ProviderFailure.malformedAnswer }
        return tokens
    }

    private func post(
        _ address: String, _ form: [(String, String)], clientID: String, _ provider: RegisteredProvider,
        _ addresses: ProviderAddresses
    ) async throws -> ProviderClient.Answer {
        guard let secret = try await clientSecret(clientID, provider, addresses) else {
            return try await client.post(address, form: form + [("client_id", clientID)])
        }
        if addresses.usesBasicAuthorization {
            return try await client.post(address, form: form, basic: (clientID, secret))
        }
        return try await client.post(
            address, form: form + [("client_id", clientID), ("client_secret", secret.withValue { $0 })])
    }

    /// Nil for a public client, which only PKCE protects.
    private func clientSecret(_ clientID: String, _ provider: RegisteredProvider, _ addresses: ProviderAddresses)
        async throws -> Secret?
    {
        guard provider.settings.kind == .apple else { return provider.secret }
        guard let key = provider.secret, let teamID = provider.settings.teamID, let keyID = provider.settings.keyID
        else {
            throw ProviderFailure.missing("private key")
        }
        return try await AppleClientSecret.make(
            clientID: clientID, teamID: teamID, keyID: keyID, privateKey: key, audience: addresses.issuer, at: now())
    }

    // MARK: Identities

    /// Takes the address from the user info if the id token has none (OpenID Connect Core 1.0 §5.3).
    private func addUserInfo(
        _ tokens: JSONValue, to identity: inout VerifiedIdentity, _ provider: RegisteredProvider,
        _ addresses: ProviderAddresses
    ) async throws {
        guard provider.settings.scopes.contains("email"), let address = addresses.userInfo,
            let token = tokens.string("access_token")
        else { return }
        let info = try await client.get(address, token: token)
        guard info.string("sub") == identity.subject else { throw ProviderFailure.malformedAnswer }
        identity = VerifiedIdentity(
            provider: provider, issuer: identity.issuer, subject: identity.subject, email: info.string("email"),
            isEmailVerified: info["email_verified"] == .bool(true) || info["email_verified"] == .string("true"),
            name: identity.name ?? info.string("name"))
    }

    /// The subject is the user's number, because a GitHub user name can pass to another person. The address is the
    /// primary one if it is verified.
    private func gitHubIdentity(_ tokens: JSONValue, _ provider: RegisteredProvider, _ addresses: ProviderAddresses)
        async throws -> VerifiedIdentity
    {
        guard let token = tokens.string("access_token"), let address = addresses.userInfo else {
            throw ProviderFailure.malformedAnswer
        }
        let user = try await client.get(address, token: token)
        guard case .number(let id) = user["id"] else { throw ProviderFailure.malformedAnswer }
        var email: String?
        if provider.settings.scopes.contains("user:email"), let address = addresses.emails,
            case .array(let list) = try await client.get(address, token: token)
        {
            email = list.first { $0["primary"] == .bool(true) && $0["verified"] == .bool(true) }?.string("email")
        }
        return VerifiedIdentity(
            provider: provider, issuer: addresses.issuer, subject: id, email: email, isEmailVerified: email != nil,
            name: user.string("name"))
    }

    /// Facebook does not state whether an address is verified, so every address counts as unverified.
    private func facebookIdentity(_ tokens: JSONValue, _ provider: RegisteredProvider, _ addresses: ProviderAddresses)
        async throws -> VerifiedIdentity
    {
        guard let token = tokens.string("access_token"), let address = addresses.userInfo, let secret = provider.secret
        else {
            throw ProviderFailure.malformedAnswer
        }
        // https://developers.facebook.com/docs/graph-api/guides/secure-requests: the proof makes a token stolen
        // elsewhere useless here.
        let proof = Hexadecimal.text(
            secret.withValue {
                HMAC<SHA256>.authenticationCode(for: Data(token.utf8), using: SymmetricKey(data: Data($0.utf8)))
            })
        let user = try await client.get(
            address + "?" + FormBody.encode([("fields", "id,name,email"), ("appsecret_proof", proof)]), token: token)
        guard let id = user.string("id") else { throw ProviderFailure.malformedAnswer }
        return VerifiedIdentity(
            provider: provider, issuer: addresses.issuer, subject: id, email: user.string("email"),
            isEmailVerified: false, name: user.string("name"))
    }

    /// The name in the form that Apple posts the first time: `{"name":{"firstName":"…","lastName":"…"}}`. The name
    /// passes through the browser, so it proves nothing.
    private static func appleName(_ text: String?) -> String? {
        guard let text, let name = (try? JSONValue(parsing: text.utf8))?["name"] else { return nil }
        let full = [name.string("firstName"), name.string("lastName")].compactMap(\.self).joined(separator: " ")
        return full.isEmpty ? nil : full
    }
}
