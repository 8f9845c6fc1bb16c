import Foundation
import MartletCore

/// A WebAuthn ceremony.
enum PasskeyCeremony: String {
    case registration = "webauthn.create"
    case authentication = "webauthn.get"
}

/// The browser's or system's description of the calling page or app (WebAuthn §5.8.1).
struct ClientData: Sendable {
    let challenge: Data

    /// - Throws: `PasskeyRefusal` unless the data is for this ceremony and one of the relying party's origins, and the
    ///   page was not in a frame of another origin.
    init(_ json: Data, of ceremony: PasskeyCeremony, for party: RelyingParty) throws(PasskeyRefusal) {
        guard let object = try? JSONValue(parsing: json), case .string(let type)? = object["type"],
            case .string(let challenge)? = object["challenge"], case .string(let origin)? = object["origin"]
        else { throw PasskeyRefusal("The client data is not well-formed.") }
        guard type == ceremony.rawValue else { throw PasskeyRefusal("The client data is for another ceremony.") }
        guard party.origins.contains(origin) else {
            throw PasskeyRefusal("The origin is not one of those in the app's settings.")
        }
        switch (object["crossOrigin"], object["topOrigin"]) {
        case (nil, nil), (.bool(false), nil): break
        default: throw PasskeyRefusal("The page was in a frame of another origin.")
        }
        guard let bytes = Base64URLText.bytes(challenge, count: PasskeyChallenge.length...PasskeyChallenge.length)
        else {
            throw PasskeyRefusal("The challenge does not have the expected form.")
        }
        self.challenge = bytes
    }
}

/// The random value that an authenticator signs once: 256 bits. Only its SHA-256 is stored.
enum PasskeyChallenge {
    static let length = 32
    static let lifetimeInSeconds: Int64 = 300

    /// The purpose that a challenge is valid for.
    enum Purpose: String, Sendable {
        case registration, signIn = "sign-in", signUp = "sign-up"
    }
}

/// Base64url in its canonical spelling: decoding and encoding again gives the same text.
enum Base64URLText {
    static func bytes(_ text: String, count: ClosedRange<Int>) -> Data? {
        guard let bytes = Base64URL.decode(text), count.contains(bytes.count), Base64URL.encode(bytes) == text else {
            return nil
        }
        return bytes
    }
}
