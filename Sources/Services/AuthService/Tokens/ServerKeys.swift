import Crypto
import Foundation
import MartletCore

/// Keys that every process of the service makes from the internal secret (HKDF, RFC 5869): none is stored.
///
/// With another internal secret all sessions end, new signing keys are made, and second factors take no code any more:
/// who has one cannot sign in until the operator or the app's server has taken it away. Identity providers need their
/// client secrets again.
struct ServerKeys: Sendable {
    /// Seals the private halves of signing keys and the secrets of authenticator apps.
    let sealing: SealingKey
    let refreshTokens: SymmetricKey
    let staffRefreshTokens: SymmetricKey
    let recoveryCodes: SymmetricKey
    /// Of the OIDC provider: tokens of clients and browsers, and its forms.
    let providerTokens: SymmetricKey
    let providerForms: SymmetricKey
    /// Of the addresses from which users sign in.
    let places: SymmetricKey
    /// Of the short codes that are mailed.
    let mailCodes: SymmetricKey
    /// Seals what identity providers gave us: client secrets, tokens, who somebody is.
    let identities: SealingKey
    /// Makes, of a state, what else is secret of a way to a provider.
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
        places = derive("sign-in places")
        mailCodes = derive("mail codes")
        identities = SealingKey(derive("identities"))
        oauthFlows = derive("oauth flows")
    }
}
