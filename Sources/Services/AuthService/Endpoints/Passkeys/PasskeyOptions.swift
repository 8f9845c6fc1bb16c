import Foundation
import MartletCore

/// `PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.1.8): what `PublicKeyCredential.parseCreationOptionsFromJSON`
/// reads.
struct PasskeyCreationOptions: Encodable {
    struct Party: Encodable {
        var id: String
        var name: String
    }

    struct User: Encodable {
        /// The user's id, 16 bytes: no name, since authenticators show it to whoever holds them.
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

    /// Discoverable, so that signing in asks for no name.
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
    ///   - name: what the authenticator shows beside the relying party's name.
    ///   - existing: passkeys that the user has: an authenticator that has one of them makes no other.
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

/// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn §5.1.9): what `PublicKeyCredential.parseRequestOptionsFromJSON`
/// reads.
struct PasskeyRequestOptions: Encodable {
    var challenge: String
    var timeout = PasskeyChallenge.lifetimeInSeconds * 1_000
    var rpId: String
    /// Never any: a list would tell who has an account, and which passkeys.
    var allowCredentials: [PasskeyCreationOptions.Descriptor] = []
    var userVerification = "preferred"

    init(challenge: Data, party: RelyingParty) {
        self.challenge = Base64URL.encode(challenge)
        rpId = party.id
    }
}
