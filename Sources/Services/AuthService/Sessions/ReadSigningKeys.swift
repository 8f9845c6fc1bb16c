import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadSigningKeys: Endpoint {
    static let route = Route(
        .get, "/auth/jwks", "readSigningKeys", "Returns the public keys that verify access tokens.",
        callers: .anyone, checksOwnQuery: true,
        details: """
            An app's server can verify access tokens with these keys. They change over time, so fetch them again \
            when a token names an unknown key.
            """,
        answers: [
            .answer(200, "The keys as a JWK set (RFC 7517).", .json(.keySet))
        ])

    let feed: KeyRingFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let ring = feed.current else { throw ServiceError(.unavailable) }
        var response = try Response.encoding(KeySet(keys: ring.signingKeys.compactMap(Key.init)))
        response.headers[.cacheControl] = "public, max-age=300"
        return response
    }

    private struct KeySet: Encodable {
        var keys: [Key]
    }

    /// An elliptic-curve key (RFC 7518 §6.2.1).
    struct Key: Encodable {
        var kty = "EC"
        var crv = "P-256"
        var alg = "ES256"
        var use = "sig"
        var kid: String
        var x: String
        var y: String

        init?(_ key: KeyRing.SigningKey) {
            guard let point = Base64URL.decode(key.publicKey), point.count == 65 else { return nil }
            kid = key.id
            x = Base64URL.encode(point[1..<33])
            y = Base64URL.encode(point[33..<65])
        }
    }
}
