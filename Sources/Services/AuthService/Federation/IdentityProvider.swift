import MartletMail

/// Where users of an app sign in from elsewhere, as the app's server has set it up.
struct IdentityProvider: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        case google, apple, github, facebook
        /// Any issuer of OpenID Connect, by discovery.
        case oidc
    }

    /// Addresses in place of those that discovery or we know.
    struct Endpoints: Codable, Sendable, Equatable {
        var authorization: String?
        var token: String?
        var userInfo: String?
        /// GitHub's list of addresses.
        var emails: String?
        /// JWK Set (RFC 7517).
        var keys: String?
        var revocation: String?
    }

    var kind: Kind
    /// Audiences that id tokens may be for: those of the apps on each system. The first one is that of the code flow.
    var clientIDs: [String]
    var issuer: String?
    var scopes: [String]
    /// Where the app may be returned to: each exactly as it is asked for.
    var redirectURLs: [String]
    /// The app key in the address that the provider calls back; nil: no code flow.
    var appKey: String?
    /// Whether an address that the provider calls verified leads to the account that has it.
    var trustsEmail: Bool
    /// Whether an app that hands an id token over has to show the nonce that it was asked for with; nil: as by default,
    /// it has.
    var nonceRequired: Bool?
    /// Apple's, of the developer and of the private key.
    var teamID: String?
    var keyID: String?
    var endpoints: Endpoints
    /// Of staff: domains whose verified addresses make a staff member without any right of whoever is none yet; nil:
    /// none.
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

    /// Whether the code flow brings an id token; else the provider is asked who it is.
    var givesIDTokenForCode: Bool { isDiscovered }

    /// Of those that publish none.
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

/// Who somebody is elsewhere, proved.
struct ProvenIdentity: Codable, Sendable {
    /// The name under which the app has the provider.
    var provider: String
    var issuer: String
    var subject: String
    /// Well-formed, in lower case.
    var email: String?
    /// As the provider says, and it is trusted in this.
    var isEmailVerified = false
    var name: String?
    /// Apple's, for the day on which the account goes.
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

/// A token that can be revoked by the client that it was made for.
struct RevocableToken: Codable, Sendable {
    var token: String
    var clientID: String
}
