import CryptoExtras
import Foundation
public import MartletCore

/// A Google service account, read from the JSON file of its key.
public struct FCMServiceAccount: Sendable {
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The maximum that Google accepts, an hour (RFC 7523 §3).
    static let assertionLifetime = 3_600
    static let maximumSizeInBytes = 16 << 10

    public let projectID: String
    public let clientEmail: String
    /// Where access tokens are requested.
    public let tokenURL: String
    private let keyID: String?
    private let key: _RSA.Signing.PrivateKey

    /// - Parameter json: The file's text.
    public init(json: Secret) throws(PushCredentialError) {
        guard
            let document = json.withValue({
                $0.utf8.count <= Self.maximumSizeInBytes ? try? JSONValue(parsing: $0.utf8) : nil
            })
        else {
            throw .invalidServiceAccount(member: "text")
        }
        func text(_ member: String, _ isValid: (String) -> Bool) throws(PushCredentialError) -> String {
            guard let text = document.string(member), isValid(text) else {
                throw .invalidServiceAccount(member: member)
            }
            return text
        }
        _ = try text("type") { $0 == "service_account" }
        projectID = try text("project_id", Self.isName)
        clientEmail = try text("client_email") { $0.holds("@") && $0.utf8.count <= 320 }
        // Without TLS on this machine only, for tests.
        tokenURL = try text("token_uri") { $0.hasPrefix("https://") || $0.hasPrefix("http://127.0.0.1:") }
        keyID = document.string("private_key_id")
        let pem = try text("private_key") { !$0.isEmpty }
        guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) else {
            throw .invalidServiceAccount(member: "private_key")
        }
        self.key = key
    }

    /// Whether the text is a valid project id, which becomes part of a path.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: ":")
                }
            }
    }

    private struct Header: Encodable {
        var alg = "RS256"
        var kid: String?
        var typ = "JWT"
    }

    private struct Claims: Encodable {
        var iss: String
        var scope: String
        var aud: String
        var iat: Int
        var exp: Int
    }

    /// The assertion with which an access token is requested (RFC 7523 §2.1).
    func assertion(at now: Date) throws -> String {
        let issued = now.secondsSince1970
        let claims = Claims(
            iss: clientEmail, scope: Self.scope, aud: tokenURL, iat: issued, exp: issued + Self.assertionLifetime)
        let header = String(decoding: try JSONEncoder().encode(Header(kid: keyID)), as: UTF8.self)
        return try CompactToken.sign(header: header, claims: claims) {
            try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }
}
