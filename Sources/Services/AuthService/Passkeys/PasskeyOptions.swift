import Foundation
import MartletCore

/// `PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.1.8), as read by
/// `PublicKeyCredential.parseCreationOptionsFromJSON`.
struct PasskeyCreationOptions: Encodable {
    struct Party: Encodable {
        var id: String
        var name: String
    }

    struct User: Encodable {
        /// The user's id, 16 bytes. Must not contain a name or address, because anyone who has the authenticator can
        /// read it.
        var id: String
        var name: String
        var displayName: String
    }

    struct Parameter: Encodable {
        var type = "public-key"
        var alg: Int
    }

    struct Descriptor: Encodable {
        var type = "public-key"
        var id: String
        var transports: [String]
    }

    /// Requires a discoverable credential, so that signing in needs no user name.
    struct Selection: Encodable {
        var residentKey = "required"
        var requireResidentKey = true
        var userVerification = "preferred"
    }

    var challenge: String
    var rp: Party
    var user: User
    var pubKeyCredParams = PasskeyPublicKey.algorithms.map { Parameter(alg: $0) }
    var timeout = PasskeyChallenge.lifetimeInSeconds * 1_000
    var excludeCredentials: [Descriptor]
    var authenticatorSelection = Selection()
    var attestation = "none"

    /// - Parameters:
    ///   - name: The name that the authenticator shows next to the relying party's.
    ///   - existing: The user's passkeys. An authenticator that holds one of them does not create another.
    init(
        challenge: Data, party: RelyingParty, user: UUID, name: String,
        existing: [(id: Data, transports: [String])] = []
    ) {
        self.challenge = Base64URL.encode(challenge)
        rp = Party(id: party.id, name: party.name)
        self.user = User(id: Base64URL.encode(user.bytes), name: name, displayName: name)
        excludeCredentials = existing.map { Descriptor(id: Base64URL.encode($0.id), transports: $0.transports) }
    }
}

/// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn §5.1.9), as read by
/// `PublicKeyCredential.parseRequestOptionsFromJSON`.
struct PasskeyRequestOptions: Encodable {
    var challenge: String
    var timeout = PasskeyChallenge.lifetimeInSeconds * 1_000
    var rpId: String
    /// Always empty: a list would reveal which accounts and passkeys exist.
    var allowCredentials: [PasskeyCreationOptions.Descriptor] = []
    var userVerification = "preferred"

    init(challenge: Data, party: RelyingParty) {
        self.challenge = Base64URL.encode(challenge)
        rpId = party.id
    }
}
