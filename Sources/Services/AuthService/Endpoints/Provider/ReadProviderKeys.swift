import Hummingbird
import MartletHTTP

/// `GET /oidc/{app}/jwks`: what ID tokens may be signed with now, as a JWK set (RFC 7517).
struct ReadProviderKeys: Endpoint {
    let issuers: Issuers
    let keys: ReadSigningKeys

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try issuers.issuer(context)
        return try await keys.respond(to: request, context)
    }
}
