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
                "secret": .string.described("The client's secret. Present only in the answer that creates it."),
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
                "expires_in": .integer.described("The lifetime of the access token in seconds."),
                "scope": .string,
                "id_token": .string.described(
                    "Present with the scope `openid`. A JWT signed with the client's `idTokenSignedResponseAlg`."),
                "refresh_token": .string.described("Present with the scope `offline_access`. Can be used once."),
            ], required: ["access_token", "token_type", "expires_in", "scope"]))
}
