import Crypto
import Foundation
import MartletCore

/// The code challenge that a client sends before its code verifier (PKCE, RFC 7636): base64url, 43 characters.
enum CodeChallenge {
    /// S256 (RFC 7636 §4.2).
    static func s256(_ verifier: String) -> String { Base64URL.encode(SHA256.hash(data: Data(verifier.utf8))) }
}
