import MartletHTTP

extension Schema {
    static let oAuthClient: Schema = component(
        "OAuthClient",
        .object(
            [
                "id": .uuid,
                "name": .string,
                "type": .values("confidential", "public"),
                "redirectUris": .array(of: .uri),
                "postLogoutRedirectUris": .array(of: .uri),
                "scopes": .array(of: .values("openid", "profile", "email", "offline_access")),
                "idTokenSignedResponseAlg": .values("RS256", "ES256"),
                "created": .timestamp,
                "updated": .timestamp,
                "secret": .string.described("In the answer that makes it only."),
            ],
            required: [
                "id", "name", "type", "redirectUris", "scopes", "idTokenSignedResponseAlg", "created", "updated",
            ]))

    static let grants: Schema = component(
        "Grants",
        .object(
            [
                "count": .integer,
                "data": .array(
                    of: .object(
                        [
                            "client": .uuid,
                            "name": .string,
                            "scopes": .array(of: .string),
                            "created": .timestamp,
                            "updated": .timestamp,
                        ])),
            ]))

    static let providerTokens: Schema = component(
        "ProviderTokens",
        .object(
            [
                "access_token": .string,
                "token_type": .constant("Bearer"),
                "expires_in": .integer.described("Seconds."),
                "scope": .string,
                "id_token": .string.described(
                    "With the scope openid: a JWT by RS256 or ES256, as the client was registered."),
                "refresh_token": .string.described("With the scope offline_access: good once."),
            ], required: ["access_token", "token_type", "expires_in", "scope"]))
}
