import Crypto
public import Foundation

/// Encodes a principal as the header `X-Martlet-Principal` and decodes it.
///
/// The format is `<payload>.<mac>`, both base64url. The payload is JSON with the time of signing; the mac is the
/// HMAC-SHA-256 (RFC 2104) of the payload's text under the internal secret. A header is valid for `validity` before and
/// after its time, so a gateway can reuse it for a while, and a recorded one soon becomes worthless.
public struct PrincipalSigner: Sendable {
    public static let validity: Duration = .seconds(90)

    private let key: SymmetricKey

    /// - Parameter internalSecret: Shared by all processes of one Martlet; at least 32 characters.
    public init(internalSecret: Secret) {
        self.key = internalSecret.withValue { SymmetricKey(data: Data($0.utf8)) }
    }

    public func header(for principal: Principal, at time: Date) throws -> String {
        let content = Payload(principal: principal, issued: Int64(time.timeIntervalSince1970))
        let payload = Base64URL.encode(try JSONEncoder().encode(content))
        return payload + "." + Base64URL.encode(authenticationCode(payload))
    }

    /// The principal in `header` and the time at which the header expires; nil if the signature is invalid or the
    /// header is stale.
    public func principal(from header: String, at time: Date) -> (principal: Principal, expires: Date)? {
        let parts = header.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let mac = Base64URL.decode(parts[1]),
            HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: Data(parts[0].utf8), using: key),
            let payload = Base64URL.decode(parts[0]),
            let content = try? JSONDecoder().decode(Payload.self, from: payload)
        else { return nil }
        let validity = TimeInterval(Self.validity.components.seconds)
        let issued = Date(timeIntervalSince1970: TimeInterval(content.issued))
        guard abs(time.timeIntervalSince(issued)) <= validity else { return nil }
        return (content.principal, issued.addingTimeInterval(validity))
    }

    private func authenticationCode(_ payload: String) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data(payload.utf8), using: key)
    }

    private struct Payload: Codable {
        var principal: Principal
        var issued: Int64
    }
}
