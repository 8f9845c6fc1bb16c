import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/jwks`: what access tokens may be signed with now, as a JWK set (RFC 7517), for an app's own server.
struct ReadSigningKeys: Endpoint {
    static let route = Route(
        .get, "/auth/jwks", "readSigningKeys", "What access tokens may be signed with now (RFC 7517).",
        callers: .anyone,
        answers: [
            .answer(200, "Done.", .json(.keySet))
        ])

    let feed: KeyRingFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let ring = feed.current else { throw HTTPProblem(.unavailable) }
        var response = try Response.encoding(KeySet(keys: ring.signingKeys.compactMap(Key.init)))
        response.headers[.cacheControl] = "public, max-age=300"
        return response
    }

    private struct KeySet: Encodable {
        var keys: [Key]
    }

    /// RFC 7518 §6.2.1.
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
