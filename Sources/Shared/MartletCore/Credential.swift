public import Crypto
import Foundation
public import MartletAPI

/// The text of a key or secret, as made by us and presented by clients.
///
/// `m<kind>_<environment>_<43 characters>`: 256 random bits, so a plain SHA-256 is a safe way to store it.
public enum Credential {
    /// A fresh credential. Shown once to the person who asked for it and kept as its digest only.
    public static func make(_ kind: CredentialKind, environment: AppEnvironment?) -> Secret {
        let prefix = [prefix(of: kind), environment?.rawValue].compactMap(\.self).joined(separator: "_")
        return Secret.random().withValue { Secret(prefix + "_" + $0) }
    }

    /// SHA-256 of the UTF-8 bytes, 32 bytes.
    public static func digest(of text: some StringProtocol) -> SHA256.Digest {
        var text = String(text)
        return text.withUTF8 { SHA256.hash(data: UnsafeRawBufferPointer($0)) }
    }

    /// The digest as `KeyRing.Credential.sha256` and the database keep it.
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
