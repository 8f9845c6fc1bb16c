public import Foundation

/// JSON Web Tokens in compact form (RFC 7519, RFC 7515 §3.1).
public enum CompactToken {
    /// - Parameters:
    ///   - header: The header as JSON text.
    ///   - sign: Signs the first two parts of the token.
    public static func sign(header: String, claims: some Encodable, by sign: (Data) throws -> Data) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(try encoder.encode(claims))
        return signed + "." + Base64URL.encode(try sign(Data(signed.utf8)))
    }
}
