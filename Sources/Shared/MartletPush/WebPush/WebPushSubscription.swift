import Crypto
import Foundation
import MartletCore

/// The address at which a browser receives messages, and the keys with which to encrypt them (W3C Push API §8):
/// `PushSubscription.toJSON()`.
public struct WebPushSubscription: Sendable {
    /// Actual endpoints have about 200 characters.
    public static let maximumEndpointLength = 1_000
    static let authenticationSecretSize = 16

    /// A secret if the subscription was made without a VAPID key: anyone who knows it can send. Must not be logged.
    public let endpoint: String
    let publicKey: P256.KeyAgreement.PublicKey
    let authenticationSecret: Data

    /// - Parameters:
    ///   - publicKey: `keys.p256dh`, base64url of an uncompressed point.
    ///   - authenticationSecret: `keys.auth`, base64url of 16 bytes.
    public init(endpoint: String, publicKey: String, authenticationSecret: String) throws(WebPushSubscriptionError) {
        guard endpoint.utf8.count <= Self.maximumEndpointLength, WebPushEndpoint.origin(of: endpoint) != nil else {
            throw .invalidEndpoint
        }
        guard
            let key = Base64URL.decode(Self.bare(publicKey)).flatMap({
                try? P256.KeyAgreement.PublicKey(x963Representation: $0)
            })
        else {
            throw .invalidPublicKey
        }
        guard let secret = Base64URL.decode(Self.bare(authenticationSecret)),
            secret.count == Self.authenticationSecretSize
        else {
            throw .invalidAuthenticationSecret
        }
        self.endpoint = endpoint
        self.publicKey = key
        self.authenticationSecret = secret
    }

    /// Removes the padding that some clients add.
    private static func bare(_ text: String) -> Substring { text.prefix { $0 != "=" } }
}

public enum WebPushSubscriptionError: Error, Sendable, Equatable {
    case invalidEndpoint
    case invalidPublicKey
    case invalidAuthenticationSecret

    public var sentence: String {
        switch self {
        case .invalidEndpoint:
            "The endpoint must be an https URL of at most \(WebPushSubscription.maximumEndpointLength) characters."
        case .invalidPublicKey: "keys.p256dh must be base64url of an uncompressed point of P-256."
        case .invalidAuthenticationSecret:
            "keys.auth must be base64url of \(WebPushSubscription.authenticationSecretSize) bytes."
        }
    }
}

/// The address to which a subscription's messages are sent.
enum WebPushEndpoint {
    /// Scheme, host and port (RFC 6454 §6.2), the form of VAPID's audience. Nil if it is not a valid address of a push
    /// service.
    static func origin(of endpoint: String) -> String? {
        guard endpoint.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let parts = URLComponents(string: endpoint),
            let host = parts.host,
            !host.isEmpty, parts.user == nil, parts.password == nil, parts.fragment == nil,
            let scheme = parts.scheme?.lowercased(),
            // Without TLS only on this machine, for tests.
            scheme == "https" || (scheme == "http" && host == "127.0.0.1")
        else { return nil }
        let isUsual = parts.port == nil || (scheme == "https" && parts.port == 443)
        return scheme + "://" + host.lowercased() + (isUsual ? "" : ":\(parts.port ?? 443)")
    }
}
