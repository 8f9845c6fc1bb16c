public import Foundation

/// JSON Web Tokens in their compact form (RFC 7519, RFC 7515 §3.1).
public enum CompactToken {
    /// - Parameters:
    ///   - header: as JSON.
    ///   - sign: the signature of the token's first two parts.
    public static func sign(header: String, claims: some Encodable, by sign: (Data) throws -> Data) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(try encoder.encode(claims))
        return signed + "." + Base64URL.encode(try sign(Data(signed.utf8)))
    }
}
