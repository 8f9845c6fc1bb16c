import Crypto
import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// Something that shows who somebody is elsewhere. It counts once.
struct SignInProof: Sendable {
    var identity: ProvenIdentity
    /// Takes it; false: it has been taken meanwhile.
    var take: @Sendable () async throws -> Bool
    /// What is left to do when it was taken.
    var finish: @Sendable () async throws -> Void = {}
}

extension Federation {
    /// The members of a body that are a proof.
    static let codeFields: Set<String> = ["code", "codeVerifier"]
    static let idTokenFields: Set<String> = ["provider", "idToken", "nonce", "authorizationCode", "name"]

    /// What `OAuthCallback` handed out, shown with the verifier of the challenge that the app began with (RFC 7636
    /// §4.6).
    ///
    /// - Throws: `invalid-token`, `invalid-body`.
    func proof(ofCode fields: BodyFields, in space: UserSpace) async throws -> SignInProof {
        let (code, verifier) = (try fields.requiredString("code"), try fields.requiredString("codeVerifier"))
        guard let found = try await flows.look(at: code, in: space) else {
            throw HTTPProblem(.invalidToken, "The code is wrong, used up or too old.")
        }
        guard (43...128).contains(verifier.utf8.count), let challenge = Base64URL.decode(found.codeChallenge),
            SHA256.hash(data: Data(verifier.utf8)) == challenge
        else {
            // Whoever has the code and not the verifier has it from somewhere else.
            _ = try await flows.take(code: code)
            throw HTTPProblem(
                .invalidToken, "The code was asked for with another code challenge.", field: "codeVerifier")
        }
        return SignInProof(
            identity: found.identity, take: { try await flows.take(code: code) },
            finish: {
                if let token = found.identity.refreshToken {
                    try await identities.keep(token, of: found.identity, in: space)
                }
            })
    }

    /// The id token that an app got on the device.
    ///
    /// - Throws: `invalid-token` saying why, `invalid-body`; `unavailable` when the provider's keys are not to be had.
    func proof(ofIDToken fields: BodyFields, _ context: ServiceContext, in space: UserSpace) async throws -> SignInProof
    {
        let name = try fields.requiredString("provider")
        let text = try fields.requiredString("idToken")
        let (nonce, code, fullName) = (
            try fields.string("nonce"), try fields.string("authorizationCode"), try fields.string("name")
        )
        guard let provider = try await providers.find(name, in: space) else {
            throw HTTPProblem(.invalidBody, "The app has no such provider.", field: "provider")
        }
        guard provider.settings.kind != .github else {
            throw HTTPProblem(.invalidBody, "GitHub has no id tokens.", field: "provider")
        }
        guard nonce != nil || !provider.settings.isNonceRequired else {
            throw HTTPProblem(
                .invalidBody,
                "This provider's id tokens are asked for with the SHA-256 of a nonce, which is sent here.",
                field: "nonce")
        }
        guard code == nil || provider.settings.kind == .apple else {
            throw HTTPProblem(.invalidBody, "This goes with Apple's id tokens only.", field: "authorizationCode")
        }
        do {
            try IDTokenVerifier.checkForm(of: text)
            let addresses = try await codeFlow.directory.addresses(of: provider.settings)
            let token = try await verifier.verify(
                text, of: addresses, for: provider.settings.clientIDs, nonce: nonce.map { .hashed($0) })
            let identity = ProvenIdentity(
                provider: provider, issuer: addresses.issuer, subject: token.subject, email: token.email,
                isEmailVerified: token.isEmailVerified,
                name: token.name ?? fullName)
            return SignInProof(
                identity: identity, take: { try await flows.take(idToken: text, expires: token.expires) },
                finish: {
                    if let code {
                        try await keepToken(forAppCode: code, clientID: token.clientID, identity, provider, in: space)
                    }
                })
        } catch let refusal as IDTokenRefusal {
            throw HTTPProblem(.invalidToken, refusal.sentence, field: "idToken")
        } catch let failure as ProviderFailure {
            throw HTTPProblem(.unavailable, "The provider could not be asked for its keys.", cause: failure.sentence)
        }
    }

    /// Without it the user is signed in all the same, and only the revocation at the end has nothing to revoke.
    private func keepToken(
        forAppCode code: String, clientID: String, _ identity: ProvenIdentity, _ provider: RegisteredProvider,
        in space: UserSpace
    ) async throws {
        do {
            let token = try await codeFlow.refreshToken(
                forAppCode: code, clientID: clientID, subject: identity.subject, provider)
            if let token { try await identities.keep(token, of: identity, in: space) }
        } catch let failure as ProviderFailure {
            providers.logger.warning(
                "Apple gave no refresh token: there will be nothing to revoke when the user goes.",
                metadata: [
                    "app.id": "\(space.appID)", "provider.name": "\(provider.name)",
                    "error.cause": "\(failure.sentence)",
                ])
        } catch let refusal as IDTokenRefusal {
            providers.logger.warning(
                "Apple answered with an id token that is none of the user's.",
                metadata: [
                    "app.id": "\(space.appID)", "provider.name": "\(provider.name)",
                    "error.cause": "\(refusal.sentence)",
                ])
        }
    }
}
