import Crypto
import Foundation
import MartletCore

/// Keys that every process of the service derives from the internal secret (HKDF, RFC 5869); none is stored.
///
/// Changing the internal secret ends all sessions, replaces the signing keys and makes second factors
/// unusable: their users cannot sign in until the operator or the app's server removes them. The client secrets of
/// identity providers must be set again.
struct ServerKeys: Sendable {
    /// Encrypts the private halves of signing keys and the secrets of authenticator apps.
    let sealing: SealingKey
    let refreshTokens: SymmetricKey
    let staffRefreshTokens: SymmetricKey
    let recoveryCodes: SymmetricKey
    /// For the OIDC provider: tokens of clients and browsers, and its forms.
    let providerTokens: SymmetricKey
    let providerForms: SymmetricKey
    /// For the addresses from which users sign in.
    let signInAddresses: SymmetricKey
    /// For mailed short codes.
    let mailCodes: SymmetricKey
    /// Encrypts data from identity providers: client secrets, tokens and identities.
    let identities: SealingKey
    /// Derives the other secrets of a provider flow from its state.
    let oauthFlows: SymmetricKey

    init(internalSecret: Secret) {
        let secret = internalSecret.withValue { SymmetricKey(data: Data($0.utf8)) }
        func derive(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret, info: Data("martlet auth \(purpose)".utf8), outputByteCount: 32)
        }
        sealing = SealingKey(derive("signing keys"))
        refreshTokens = derive("refresh tokens")
        staffRefreshTokens = derive("refresh tokens of staff")
        recoveryCodes = derive("recovery codes")
        providerTokens = derive("provider tokens")
        providerForms = derive("provider forms")
        signInAddresses = derive("sign-in places")
        mailCodes = derive("mail codes")
        identities = SealingKey(derive("identities"))
        oauthFlows = derive("oauth flows")
    }
}
