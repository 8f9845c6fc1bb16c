import HTTPTypes
import Hummingbird
import MartletCore
import MartletHTTP

/// Creates the first key if the app has none yet.
struct ListDefinitionKeys: Endpoint {
    static let route = Route(
        .get, "/definitions/keys", "listDefinitionKeys",
        """
        Lists the public keys that verify the app's manifests, newest first, as a JWK set (RFC 7517, RFC 8037).
        """, callers: .client,
        answers: [
            .answer(
                200, "The current key, then earlier ones.",
                .json(
                    .object(
                        [
                            "keys": .array(
                                of: .object(
                                    [
                                        "kty": .string,
                                        "crv": .string,
                                        "alg": .string,
                                        "use": .string,
                                        "kid": .string,
                                        "x": .string,
                                    ]))
                        ])))
        ])

    let keys: DefinitionKeyStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        var known = try await keys.publicKeys(of: space.appID)
        if known.isEmpty {
            // The key can be built into the app before anything is published.
            _ = try await keys.signer(of: space.appID)
            known = try await keys.publicKeys(of: space.appID)
        }
        var response = try Response.encoding(KeySet(keys: known.map(Key.init)))
        response.headers[.cacheControl] = "private, max-age=300"
        return response
    }

    private struct KeySet: Encodable {
        var keys: [Key]
    }

    private struct Key: Encodable {
        var kty = "OKP"
        var crv = "Ed25519"
        var alg = "EdDSA"
        var use = "sig"
        var kid: String
        var x: String

        init(_ key: DefinitionPublicKey) {
            kid = key.id
            x = Base64URL.encode(key.bytes)
        }
    }
}
