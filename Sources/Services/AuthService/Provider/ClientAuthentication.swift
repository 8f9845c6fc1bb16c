import Foundation
import Hummingbird
import MartletCore

/// Authenticates the calling client (RFC 6749 §2.3): `client_secret_basic`, `client_secret_post`, or none for public
/// clients.
struct ClientAuthentication: Sendable {
    static let methods = ["client_secret_basic", "client_secret_post", "none"]

    let clients: ClientStore

    /// - Throws: `OAuthError` `invalid_client`, the same for every failure; `invalid_request` for two methods at once.
    func client(_ request: Request, _ fields: FormFields, in space: AppSpace) async throws -> OAuthClient {
        let refusal = OAuthError(.invalidClient, "The client is unknown, or its secret is missing or wrong.")
        let basic = try request.headers[.authorization].map { header in
            guard let credentials = Self.basic(header) else { throw refusal }
            return credentials
        }
        guard basic == nil || fields["client_secret"] == nil else {
            throw OAuthError(.invalidRequest, "Send the secret in one place, not in two.")
        }
        let name = basic?.id ?? fields["client_id"]
        guard let name, fields["client_id"] ?? name == name, let id = UUID(uuidString: name),
            let client = try await clients.find(id, in: space)
        else { throw refusal }
        let secret = basic?.secret ?? fields["client_secret"]
        switch (client.secretDigest, secret) {
        case (nil, nil): return client
        case (let digest?, let secret?) where Self.isEqual(Credential.hexDigest(of: secret), digest): return client
        default: throw refusal
        }
    }

    /// Both parts are form-encoded (RFC 6749 §2.3.1). A public client may send its id with an empty secret.
    private static func basic(_ header: String) -> (id: String, secret: String?)? {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let data = Data(base64Encoded: String(parts[1])),
            let colon = data.firstIndex(of: UInt8(ascii: ":")), let id = FormFields.decode(data[..<colon]),
            let secret = FormFields.decode(data[(colon + 1)...])
        else { return nil }
        return (id, secret.isEmpty ? nil : secret)
    }

    /// Compares in constant time; both are digests of the same length.
    private static func isEqual(_ a: String, _ b: String) -> Bool {
        a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
