import MartletHTTP

extension Schema {
    static let staff: Schema = component(
        "Staff",
        .object(
            [
                "id": .uuid,
                "userName": .string,
                "isAdministrator": .boolean.described("May do everything."),
                "rights": .staffRights,
                "mustReset": .boolean.described("Has to choose another password before anything else."),
                "disabled": .boolean,
                "email": .string.format("email").nullable.described(
                    "Where mail of the server reaches them; null: at the address they sign in with."),
                "secondFactor": .boolean,
                "identities": .array(
                    of: .object(
                        [
                            "provider": .string,
                            "issuer": .string,
                            "subject": .string.nullable,
                            "email": .string.nullable,
                            "lastUsed": .time.nullable,
                        ])),
                "created": .time,
                "updated": .time,
                "lastSignIn": .time.nullable,
            ],
            required: [
                "id", "userName", "isAdministrator", "rights", "mustReset", "disabled", "secondFactor", "created",
                "updated",
            ]))

    static let staffRights: Schema = component(
        "StaffRights",
        .map(
            of: .map(of: .array(of: .oneOf("create", "read", "update", "delete"))).keyword(
                "propertyNames",
                .values(
                    "applications", "users", "storage", "analytics", "notifications", "backup", "config", "crashes",
                    "experiments", "languages", "tickets", "staff", "audit", "status"))
        ).examples(["*": ["status": ["read"]], "k3f9x0q2m7ab": ["storage": ["read", "update"]]]).described(
            """
            App, or `*` for every app and what belongs to none → area → actions. `staff`, `audit` and `status` \
            go under `*` only.
            """))

    static let staffTokens: Schema = component(
        "StaffTokens",
        .object(
            [
                "accessToken": .string,
                "expiresIn": .integer.examples(900).described("Seconds."),
                "refreshToken": .string,
                "staff": .staff,
            ], required: ["accessToken", "expiresIn", "refreshToken", "staff"]))

    static let auditEntry: Schema = component(
        "AuditEntry",
        .object(
            [
                "number": .integer,
                "time": .time,
                "staff": .object(
                    [
                        "id": .string.nullable.described("Null: the operator, by command."),
                        "userName": .string,
                    ]),
                "action": .string.examples("create", "update", "delete", "sign-in"),
                "area": .string,
                "app": .string.nullable,
                "target": .string.nullable,
                "before": .any.described("As it was, without secrets."),
                "after": .any.described("As it is now, without secrets."),
                "address": .string,
            ], required: ["number", "time", "staff", "action", "area"]))

    static let identityProvider: Schema = component(
        "IdentityProvider",
        .object(
            [
                "allowedDomains": .array(of: .string).described("Of staff only."),
                "name": .string,
                "kind": .oneOf("google", "apple", "github", "facebook", "oidc"),
                "clientIDs": .array(of: .string),
                "issuer": .string,
                "scopes": .array(of: .string),
                "redirectURLs": .array(of: .string),
                "callbackURL": .string.described("What the provider has to be told that it may call back."),
                "trustsEmail": .boolean,
                "nonceRequired": .boolean,
                "teamID": .string,
                "keyID": .string,
                "endpoints": .object,
                "hasSecret": .boolean,
            ], required: ["name", "kind", "clientIDs", "hasSecret"]))
}
