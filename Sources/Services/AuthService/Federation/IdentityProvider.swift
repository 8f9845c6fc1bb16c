import MartletMail

/// An identity provider's settings, as set up by the app's server.
struct IdentityProvider: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        case google, apple, github, facebook
        /// Any issuer that supports OpenID Connect Discovery.
        case oidc
    }

    /// Addresses that replace the discovered or built-in ones.
    struct Endpoints: Codable, Sendable, Equatable {
        var authorization: String?
        var token: String?
        var userInfo: String?
        /// GitHub's endpoint for e-mail addresses.
        var emails: String?
        /// JWK Set (RFC 7517).
        var keys: String?
        var revocation: String?
    }

    var kind: Kind
    /// The accepted audiences of id tokens, such as the client ids of the app on each system. The code flow uses the
    /// first one.
    var clientIDs: [String]
    var issuer: String?
    var scopes: [String]
    /// The URLs to which the flow may return to the app; compared exactly.
    var redirectURLs: [String]
    /// The app key in the provider's callback URL; nil if the code flow is not available.
    var appKey: String?
    /// Whether a sign-in with an address that the provider reports as verified leads to the account with that address.
    var trustsEmail: Bool
    /// Whether an app that hands over an id token must also send the nonce. Nil means the default, true.
    var nonceRequired: Bool?
    /// Apple's ids of the developer team and of the private key.
    var teamID: String?
    var keyID: String?
    var endpoints: Endpoints
    /// For staff only: a person with a verified address in one of these domains becomes a staff member without rights.
    /// Nil disables this.
    var allowedDomains: [String]?
}

extension IdentityProvider {
    var isNonceRequired: Bool { nonceRequired ?? true }
}

extension IdentityProvider.Kind {
    var defaultScopes: [String] {
        switch self {
        case .google, .oidc: ["openid", "email", "profile"]
        case .apple: ["name", "email"]
        case .github: ["read:user", "user:email"]
        case .facebook: ["public_profile", "email"]
        }
    }

    var defaultIssuer: String? {
        switch self {
        case .google: "https://accounts.google.com"
        case .apple: "https://appleid.apple.com"
        case .github: "https://github.com"
        case .facebook: "https://www.facebook.com"
        case .oidc: nil
        }
    }

    /// Whether the issuer publishes its addresses (OpenID Connect Discovery 1.0 §4).
    var isDiscovered: Bool { self == .google || self == .apple || self == .oidc }

    /// Whether the code flow returns an id token. Otherwise the user is read from the provider's API.
    var givesIDTokenForCode: Bool { isDiscovered }

    /// The addresses of providers without discovery.
    ///
    /// https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps,
    /// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow and
    /// …/limited-login/token/validating
    var fixedEndpoints: IdentityProvider.Endpoints {
        switch self {
        case .google, .apple, .oidc: IdentityProvider.Endpoints()
        case .github:
            IdentityProvider.Endpoints(
                authorization: "https://github.com/login/oauth/authorize",
                token: "https://github.com/login/oauth/access_token",
                userInfo: "https://api.github.com/user", emails: "https://api.github.com/user/emails")
        case .facebook:
            IdentityProvider.Endpoints(
                authorization: "https://www.facebook.com/v21.0/dialog/oauth",
                token: "https://graph.facebook.com/v21.0/oauth/access_token",
                userInfo: "https://graph.facebook.com/v21.0/me",
                keys: "https://limited.facebook.com/.well-known/oauth/openid/jwks/")
        }
    }
}

/// A proven identity at a provider.
struct VerifiedIdentity: Codable, Sendable {
    /// The app's name for the provider.
    var provider: String
    var issuer: String
    var subject: String
    /// Valid and in lower case.
    var email: String?
    /// Whether the provider reports the address as verified and the app trusts the provider's reports.
    var isEmailVerified = false
    var name: String?
    /// Apple's refresh token, to be revoked when the account is deleted.
    var refreshToken: RevocableToken?

    var verifiedEmail: EmailAddress? { isEmailVerified ? email.flatMap { try? EmailAddress($0) } : nil }

    init(
        provider: RegisteredProvider, issuer: String, subject: String, email: String?, isEmailVerified: Bool,
        name: String?
    ) {
        self.provider = provider.name
        self.issuer = issuer
        self.subject = subject
        self.email = email.flatMap { try? EmailAddress($0).text }
        self.isEmailVerified = isEmailVerified && provider.settings.trustsEmail
        let plain = String(
            String.UnicodeScalarView(
                (name ?? "").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.prefix(200)))
        self.name = plain.isEmpty ? nil : plain
    }
}

/// A token that the client it was issued to can revoke.
struct RevocableToken: Codable, Sendable {
    var token: String
    var clientID: String
}
