import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// Why a passkey is refused.
struct PasskeyRefusal: Error {
    /// A sentence that contains no secrets.
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// The result of `navigator.credentials` in the form of `PublicKeyCredential.toJSON()` (WebAuthn §5.1), with bytes in
/// base64url. Members that are not needed are ignored.
struct PasskeyCredential: Sendable {
    /// WebAuthn §4 requires at least 16 bytes, §5.8.3 at most 1,023.
    static let idLengths = 16...1_023
    /// The limit of each part; attestations with certificates have some 5 KB.
    private static let maximumPartLength = 32 << 10
    private static let field = "credential"

    let id: Data
    let clientDataJSON: Data
    private let response: JSONValue

    /// - Throws: `invalid-body`.
    init(_ fields: BodyFields) throws {
        guard let json = fields[Self.field] else {
            throw ServiceError(.invalidBody, "This field is required.", field: Self.field)
        }
        guard case .string("public-key")? = json["type"], case .string(let text)? = json["id"],
            let id = Base64URLText.bytes(text, count: Self.idLengths),
            json["rawId"] == nil || json["rawId"] == .string(text),
            let response = json["response"], let clientData = Self.bytes("clientDataJSON", of: response)
        else { throw Self.malformed }
        self.id = id
        self.response = response
        clientDataJSON = clientData
    }

    /// - Throws: `invalid-body` if the part is missing.
    private func part(_ name: String) throws -> Data {
        guard let bytes = Self.bytes(name, of: response) else { throw Self.malformed }
        return bytes
    }

    private static func bytes(_ name: String, of response: JSONValue) -> Data? {
        guard case .string(let text)? = response[name] else { return nil }
        return Base64URLText.bytes(text, count: 1...maximumPartLength)
    }

    private static let malformed = ServiceError(
        .invalidBody,
        "Expected the result of PublicKeyCredential.toJSON(), with all bytes in base64url without padding.",
        field: field)

    private var transports: [String] {
        guard case .array(let names)? = response["transports"] else { return [] }
        // The registered values (WebAuthn §5.8.4), each once. They only serve as hints for the next time.
        let registered = ["ble", "hybrid", "internal", "nfc", "smart-card", "usb"]
        return registered.filter { names.contains(.string($0)) }
    }
}

/// A newly created passkey, ready to be stored.
struct NewPasskey: Sendable {
    var credentialID: Data
    /// In COSE format.
    var publicKey: Data
    var signCount: Int64
    var isBackedUp: Bool
    var model: UUID
    var transports: [String]
}

extension PasskeyCredential {
    /// The registration ceremony (WebAuthn §7.1), except for checking the challenge.
    ///
    /// Attestation is not requested and not relied on. The format `none` must be empty, `packed` without certificates
    /// must be signed by the new key, and all others are treated like `none`.
    ///
    /// - Throws: `invalid-body` for malformed data, `PasskeyRefusal`.
    func registration(for party: RelyingParty) throws -> (challenge: Data, passkey: NewPasskey) {
        let attestation = try part("attestationObject")
        let clientData = try ClientData(clientDataJSON, of: .registration, for: party)
        guard let object = try? CBOR(attestation), let format = object["fmt"]?.text, let statement = object["attStmt"],
            case .map = statement,
            let authData = object["authData"]?.bytes
        else { throw PasskeyRefusal("The attestation object is not well-formed.") }
        let data = try AuthenticatorData(authData)
        try data.check(for: party)
        guard let new = data.newCredential, new.id == id, let cose = try? CBOR(new.publicKey) else {
            throw PasskeyRefusal("The authenticator data has no credential with this id.")
        }
        let key = try PasskeyPublicKey(cose)
        try Self.check(format, statement, signed: authData + SHA256.hash(data: clientDataJSON), by: key)
        return (
            clientData.challenge,
            NewPasskey(
                credentialID: id, publicKey: new.publicKey, signCount: data.signCount, isBackedUp: data.isBackedUp,
                model: new.model,
                transports: transports)
        )
    }

    private static func check(_ format: String, _ statement: CBOR, signed message: Data, by key: PasskeyPublicKey)
        throws(PasskeyRefusal)
    {
        switch format {
        case "none":
            guard statement == .map([:]) else {
                throw PasskeyRefusal("Expected an empty attestation for the format none.")
            }
        case "packed" where statement["x5c"] == nil:
            guard statement["alg"]?.integer == key.algorithm, let signature = statement["sig"]?.bytes,
                key.isValid(signature, of: message)
            else {
                throw PasskeyRefusal("The attestation is not signed by the new key.")
            }
        default: break
        }
    }

    /// The result of signing in with a passkey.
    struct Proof: Sendable {
        var challenge: Data
        var signCount: Int64
        var isUserVerified: Bool
        var isBackedUp: Bool

        /// Whether the count has increased since the passkey's last use. Authenticators that do not count send 0
        /// (WebAuthn §6.1.1).
        func hasValidCount(after passkey: StoredPasskey) -> Bool {
            signCount > passkey.signCount || (signCount == 0 && passkey.signCount == 0)
        }
    }

    /// The authentication ceremony (WebAuthn §7.2), except for checking the challenge and the count.
    ///
    /// - Parameter passkey: The stored passkey with this id.
    /// - Throws: `invalid-body` for malformed data, `PasskeyRefusal`.
    func proof(by passkey: StoredPasskey, for party: RelyingParty) throws -> Proof {
        let (authData, signature, handle) = (
            try part("authenticatorData"), try part("signature"), try part("userHandle")
        )
        let clientData = try ClientData(clientDataJSON, of: .authentication, for: party)
        guard handle.elementsEqual(passkey.userID.bytes) else {
            throw PasskeyRefusal("The passkey belongs to another user.")
        }
        let data = try AuthenticatorData(authData)
        try data.check(for: party)
        let key = try PasskeyPublicKey((try? CBOR(passkey.publicKey)) ?? .null)
        guard key.isValid(signature, of: authData + SHA256.hash(data: clientDataJSON)) else {
            throw PasskeyRefusal("The signature is wrong.")
        }
        return Proof(
            challenge: clientData.challenge, signCount: data.signCount, isUserVerified: data.isUserVerified,
            isBackedUp: data.isBackedUp)
    }
}

extension UUID {
    var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
