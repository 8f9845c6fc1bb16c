import Foundation
import MartletCore

/// Which of the two ceremonies of WebAuthn.
enum PasskeyCeremony: String {
    case registration = "webauthn.create"
    case authentication = "webauthn.get"
}

/// What the browser or the system says of the page or app that asked (WebAuthn §5.8.1).
struct ClientData: Sendable {
    let challenge: Data

    /// - Throws: `PasskeyRefusal` unless it is of this ceremony, and of one of the relying party's origins, not in a
    ///   frame of another's page.
    init(_ json: Data, of ceremony: PasskeyCeremony, for party: RelyingParty) throws(PasskeyRefusal) {
        guard let object = try? JSONValue(parsing: json), case .string(let type)? = object["type"],
            case .string(let challenge)? = object["challenge"], case .string(let origin)? = object["origin"]
        else { throw PasskeyRefusal("The client data is not well-formed.") }
        guard type == ceremony.rawValue else { throw PasskeyRefusal("The client data is of another ceremony.") }
        guard party.origins.contains(origin) else {
            throw PasskeyRefusal("The origin is none of those in the app's settings.")
        }
        switch (object["crossOrigin"], object["topOrigin"]) {
        case (nil, nil), (.bool(false), nil): break
        default: throw PasskeyRefusal("The page was in a frame of another origin.")
        }
        guard let bytes = Base64URLText.bytes(challenge, count: PasskeyChallenge.length...PasskeyChallenge.length)
        else {
            throw PasskeyRefusal("The challenge is none of ours.")
        }
        self.challenge = bytes
    }
}

/// What an authenticator signs once: 256 random bits. Only its SHA-256 is kept.
enum PasskeyChallenge {
    static let length = 32
    static let lifetimeInSeconds: Int64 = 300

    /// What it is good for.
    enum Purpose: String, Sendable {
        case registration, signIn = "sign-in", signUp = "sign-up"
    }
}

/// Base64url in its one spelling: what is read is written again as it was.
enum Base64URLText {
    static func bytes(_ text: String, count: ClosedRange<Int>) -> Data? {
        guard let bytes = Base64URL.decode(text), count.contains(bytes.count), Base64URL.encode(bytes) == text else {
            return nil
        }
        return bytes
    }
}
