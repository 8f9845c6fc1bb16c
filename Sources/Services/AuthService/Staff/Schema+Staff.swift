import MartletHTTP

extension Schema {
    static let staff: Schema = component(
        "Staff",
        .object(
            [
                "id": .uuid,
                "userName": .string,
                "firstName": .string.nullable,
                "lastName": .string.nullable,
                "isAdministrator": .boolean.described("Whether the member has every right."),
                "rights": .staffRights,
                "mustReset": .boolean.described(
                    "Whether the member must choose another password before any other call."),
                "disabled": .boolean,
                "email": .string.format("email").nullable.described(
                    "The address for mail from the server; if null, the address that the member signs in with."),
                "hasPassword": .boolean.described(
                    "False if the member was created by signing in at a provider and has not set a password."),
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
                "id", "userName", "isAdministrator", "rights", "mustReset", "disabled", "hasPassword", "secondFactor",
                "created", "updated",
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
            An object from app to area to actions. The app `*` stands for every app and for what belongs to none. \
            `staff`, `audit` and `status` are allowed only under `*`.
            """))

    static let staffTokens: Schema = component(
        "StaffTokens",
        .object(
            [
                "accessToken": .string.described("Absent with `Martlet-Dashboard`, like the refresh token."),
                "expiresIn": .integer.examples(900).described("The lifetime of the access token in seconds."),
                "refreshToken": .string,
                "staff": .staff,
            ], required: ["expiresIn", "staff"]))

    static let auditEntry: Schema = component(
        "AuditEntry",
        .object(
            [
                "number": .integer,
                "time": .time,
                "staff": .object(
                    [
                        "id": .string.nullable.described("Null if the operator acted with a command."),
                        "userName": .string,
                    ]),
                "action": .string.examples("update", "create-object", "delete-user", "sign-in"),
                "area": .string,
                "app": .string.nullable,
                "environment": .string.nullable.described("The app's environment; null if both, or no app, changed."),
                "target": .string.nullable,
                "before": .any.described("The state before the action, without secrets."),
                "after": .any.described("The state after the action, without secrets."),
                "address": .string,
            ], required: ["number", "time", "staff", "action", "area"]))

    static let identityProvider: Schema = component(
        "IdentityProvider",
        .object(
            [
                "allowedDomains": .array(of: .string).described("Present only for identity providers of staff."),
                "name": .string,
                "kind": .oneOf("google", "apple", "github", "facebook", "oidc"),
                "clientIDs": .array(of: .string),
                "issuer": .string,
                "scopes": .array(of: .string),
                "redirectURLs": .array(of: .string),
                "callbackURL": .string.described("The URL to register with the provider as its redirect target."),
                "trustsEmail": .boolean,
                "nonceRequired": .boolean,
                "teamID": .string,
                "keyID": .string,
                "endpoints": .object,
                "hasSecret": .boolean,
            ], required: ["name", "kind", "clientIDs", "hasSecret"]))
}
