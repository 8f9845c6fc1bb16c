import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadProviderKeys: Endpoint {
    static let route = Route(
        .get, "/oidc/{app}/jwks", "readProviderKeys", "Returns the public keys that verify ID tokens.",
        callers: .anyone,
        checksOwnQuery: true,
        answers: [
            .answer(200, "The keys as a JWK set (RFC 7517).", .json(.keySet))
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let issuers: Issuers

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try issuers.issuer(context)
        guard let ring = issuers.feed.current else { throw ServiceError(.unavailable) }
        let keys =
            issuers.feed.idTokenKeys.map { Key.rsa(RSAKey($0)) }
            + ring.signingKeys.compactMap(ReadSigningKeys.Key.init).map(Key.ec)
        var response = try Response.encoding(["keys": keys])
        response.headers[.cacheControl] = "public, max-age=300"
        return response
    }

    private enum Key: Encodable {
        case rsa(RSAKey)
        case ec(ReadSigningKeys.Key)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .rsa(let key): try key.encode(to: encoder)
            case .ec(let key): try key.encode(to: encoder)
            }
        }
    }

    /// An RSA key (RFC 7518 §6.3.1).
    private struct RSAKey: Encodable {
        var kty = "RSA"
        var alg = "RS256"
        var use = "sig"
        var kid: String
        var n: String
        var e: String

        init(_ key: RSATokenVerifier) {
            (kid, n, e) = (key.keyID, key.modulus, key.exponent)
        }
    }
}
