import Foundation
import MartletKit

#if canImport(CryptoKit)
import CryptoKit
#endif

extension DefinitionKey {
    /// The key's thumbprint (RFC 7638, RFC 8037 appendix A.3), which manifests name.
    var id: String { SHA256Digest.of(Data(#"{"crv":"Ed25519","kty":"OKP","x":"\#(x)"}"#.utf8)).base64URL }

    /// - Parameter signature: Ed25519 (RFC 8032).
    func isValid(signature: Data, of message: Data) -> Bool {
        let base64 = x.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/") + "="
        guard let bytes = Data(base64Encoded: base64), bytes.count == 32, bytes.base64URL == x else { return false }
        #if canImport(CryptoKit)
        let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
        return key?.isValidSignature(signature, for: message) ?? false
        #else
        return Ed25519.isValid(signature: [UInt8](signature), message: [UInt8](message), publicKey: [UInt8](bytes))
        #endif
    }
}
