import MartletCore

/// The endpoint addresses of a provider.
struct ProviderAddresses: Sendable {
    var issuer: String
    var authorization: String?
    var token: String?
    var userInfo: String?
    var emails: String?
    var keys: String?
    var revocation: String?
    /// Whether the client sends its secret by Basic authentication instead of in the form (RFC 6749 §2.3.1).
    var usesBasicAuthorization = false
}

/// Finds the endpoint addresses of providers. The settings take precedence over discovery, and discovery over the
/// built-in addresses.
struct ProviderDirectory: Sendable {
    let documents: DocumentCache

    /// - Throws: `ProviderFailure`.
    func addresses(of provider: IdentityProvider) async throws -> ProviderAddresses {
        guard let issuer = provider.issuer ?? provider.kind.defaultIssuer else {
            throw ProviderFailure.missing("issuer")
        }
        var addresses = ProviderAddresses(issuer: issuer)
        addresses.merge(provider.kind.fixedEndpoints)
        if provider.kind.isDiscovered {
            try addresses.merge(discovered: await document(of: issuer), kind: provider.kind)
        }
        addresses.merge(provider.endpoints)
        return addresses
    }

    /// The discovery document (OpenID Connect Discovery 1.0 §4).
    private func document(of issuer: String) async throws -> JSONValue {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let document = try await documents.document(at: base + "/.well-known/openid-configuration")
        // §4.3: a document that names another issuer is not trusted.
        guard document.string("issuer") == issuer else { throw ProviderFailure.malformedAnswer }
        return document
    }
}

extension ProviderAddresses {
    fileprivate mutating func merge(_ endpoints: IdentityProvider.Endpoints) {
        authorization = endpoints.authorization ?? authorization
        token = endpoints.token ?? token
        userInfo = endpoints.userInfo ?? userInfo
        emails = endpoints.emails ?? emails
        keys = endpoints.keys ?? keys
        revocation = endpoints.revocation ?? revocation
    }

    fileprivate mutating func merge(discovered document: JSONValue, kind: IdentityProvider.Kind) {
        merge(
            IdentityProvider.Endpoints(
                authorization: document.string("authorization_endpoint"), token: document.string("token_endpoint"),
                userInfo: document.string("userinfo_endpoint"), keys: document.string("jwks_uri"),
                revocation: document.string("revocation_endpoint")))
        // Basic is the default if the issuer does not list its methods (§3).
        usesBasicAuthorization =
            kind == .oidc
            && !document.list("token_endpoint_auth_methods_supported").contains(.string("client_secret_post"))
    }
}
