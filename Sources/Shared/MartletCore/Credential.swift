public import Crypto
import Foundation
public import MartletAPI

/// The text of a key or secret, as we generate it and clients present it.
///
/// `m<kind>_<environment>_<43 characters>`. It contains 256 random bits, so storing a plain SHA-256 is safe.
public enum Credential {
    /// Generates a credential. It is shown once to the person who requested it; only its digest is stored.
    public static func make(_ kind: CredentialKind, environment: AppEnvironment?) -> Secret {
        let prefix = [prefix(of: kind), environment?.rawValue].compactMap(\.self).joined(separator: "_")
        return Secret.random().withValue { Secret(prefix + "_" + $0) }
    }

    /// SHA-256 of the UTF-8 bytes, 32 bytes long.
    public static func digest(of text: some StringProtocol) -> SHA256.Digest {
        var text = String(text)
        return text.withUTF8 { SHA256.hash(data: UnsafeRawBufferPointer($0)) }
    }

    /// The digest in the format of `KeyRing.Credential.sha256` and the database.
    public static func hexDigest(of text: some StringProtocol) -> String {
        Hexadecimal.text(digest(of: text))
    }

    private static func prefix(of kind: CredentialKind) -> String {
        switch kind {
        case .client: "mk"
        case .secret: "ms"
        case .ingest: "mi"
        case .evaluation: "me"
        case .master: "mm"
        }
    }
}
