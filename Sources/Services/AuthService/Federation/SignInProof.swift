import Crypto
import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// A proof of a user's identity at a provider. It can be used once.
struct SignInProof: Sendable {
    var identity: VerifiedIdentity
    /// Consumes the proof. Returns false if it has been consumed already.
    var consume: @Sendable () async throws -> Bool
    /// Runs after the sign-in. Stores the provider's token, if it must be revoked later.
    var finish: @Sendable () async throws -> Void = {}
}

extension Federation {
    /// The body members that make up a proof.
    static let codeFields: Set<String> = ["code", "codeVerifier"]
    static let idTokenFields: Set<String> = ["provider", "idToken", "nonce", "authorizationCode", "name"]

    /// The proof for a code from `OAuthCallback`. The body must also have the verifier for the code challenge with
    /// which the app started the flow (RFC 7636 §4.6).
    ///
    /// - Throws: `invalid-token`, `invalid-body`.
    func proof(ofCode fields: BodyFields, in space: AppSpace) async throws -> SignInProof {
        let (code, verifier) = (try fields.requiredString("code"), try fields.requiredString("codeVerifier"))
        guard let found = try await flows.identity(for: code, in: space) else {
            throw ServiceError(.invalidToken, "The code is wrong, was used before or has expired.")
        }
        guard (43...128).contains(verifier.utf8.count), let challenge = Base64URL.decode(found.codeChallenge),
            SHA256.hash(data: Data(verifier.utf8)) == challenge
        else {
            // A caller with the code but without the verifier has stolen the code. The code is consumed, so that the
            // thief cannot try again.
            _ = try await flows.consume(code: code)
            throw ServiceError(
                .invalidToken, "The verifier does not match the code challenge that the code was requested with.",
                field: "codeVerifier")
        }
        return SignInProof(
            identity: found.identity, consume: { try await flows.consume(code: code) },
            finish: {
                if let token = found.identity.refreshToken {
                    try await identities.store(token, of: found.identity, in: space)
                }
            })
    }

    /// The proof for an id token that an app received on the device.
    ///
    /// - Throws: `invalid-token` with the reason, `invalid-body`; `unavailable` if the provider's keys cannot be
    ///   fetched.
    func proof(ofIDToken fields: BodyFields, _ context: ServiceContext, in space: AppSpace) async throws -> SignInProof
    {
        let name = try fields.requiredString("provider")
        let text = try fields.requiredString("idToken")
        let (nonce, code, fullName) = (
            try fields.string("nonce"), try fields.string("authorizationCode"), try fields.string("name")
        )
        guard let provider = try await providers.find(name, in: space) else {
            throw ServiceError(.invalidBody, "The app has no provider with this name.", field: "provider")
        }
        guard provider.settings.kind != .github else {
            throw ServiceError(.invalidBody, "GitHub has no id tokens.", field: "provider")
        }
        guard nonce != nil || !provider.settings.isNonceRequired else {
            throw ServiceError(
                .invalidBody,
                "This provider requires a nonce: request the id token with the nonce's SHA-256 and send the nonce here.",
                field: "nonce")
        }
        guard code == nil || provider.settings.kind == .apple else {
            throw ServiceError(
                .invalidBody, "An authorization code is accepted only with an id token from Apple.",
                field: "authorizationCode")
        }
        do {
            try IDTokenVerifier.checkForm(of: text)
            let addresses = try await codeFlow.directory.addresses(of: provider.settings)
            let token = try await verifier.verify(
                text, of: addresses, for: provider.settings.clientIDs, nonce: nonce.map { .hashed($0) })
            let identity = VerifiedIdentity(
                provider: provider, issuer: addresses.issuer, subject: token.subject, email: token.email,
                isEmailVerified: token.isEmailVerified,
                name: token.name ?? fullName)
            return SignInProof(
                identity: identity, consume: { try await flows.consume(idToken: text, expires: token.expires) },
                finish: {
                    if let code {
                        try await storeToken(forAppCode: code, clientID: token.clientID, identity, provider, in: space)
                    }
                })
        } catch let refusal as IDTokenRefusal {
            throw ServiceError(.invalidToken, refusal.sentence, field: "idToken")
        } catch let failure as ProviderFailure {
            throw ServiceError(.unavailable, "The provider's keys could not be fetched.", cause: failure.sentence)
        }
    }

    /// A failure does not prevent the sign-in; there is then no token to revoke when the account is deleted.
    private func storeToken(
        forAppCode code: String, clientID: String, _ identity: VerifiedIdentity, _ provider: RegisteredProvider,
        in space: AppSpace
    ) async throws {
        do {
            let token = try await codeFlow.refreshToken(
                forAppCode: code, clientID: clientID, subject: identity.subject, provider)
            if let token { try await identities.store(token, of: identity, in: space) }
        } catch let failure as ProviderFailure {
            providers.logger.warning(
                "Could not get a refresh token from Apple; no token will be revoked when the user is deleted.",
                metadata: [
                    "app.id": "\(space.appID)", "provider.name": "\(provider.name)",
                    "error.cause": "\(failure.sentence)",
                ])
        } catch let refusal as IDTokenRefusal {
            providers.logger.warning(
                "Apple's answer to the authorization code has an invalid id token; no token will be revoked when the user is deleted.",
                metadata: [
                    "app.id": "\(space.appID)", "provider.name": "\(provider.name)",
                    "error.cause": "\(refusal.sentence)",
                ])
        }
    }
}
