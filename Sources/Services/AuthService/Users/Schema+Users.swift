import MartletHTTP

extension Schema {
    static let newReceipt: Schema = component(
        "NewReceipt",
        .object(
            [
                "id": .uuid,
                "state": .oneOf("erasing"),
                "token": .string.described("The token that is required to read the receipt."),
            ], required: ["id", "state", "token"]))

    static let receipt: Schema = component(
        "Receipt",
        .object(
            [
                "id": .uuid,
                "state": .oneOf("erasing", "complete"),
                "erased": .map(of: .map(of: .integer)).described(
                    "An object from service to kind of data to the number of erased items."),
                "progress": .exactlyOne(
                    .userDataProgress,
                    .null),
                "created": .time,
                "finished": .time.nullable,
            ], required: ["id", "state", "erased", "progress", "created", "finished"]))

    static let userExport: Schema = component(
        "UserExport",
        .object(
            [
                "id": .uuid,
                "state": .oneOf("waiting", "running", "done", "failed", "cancelled"),
                "progress": .userDataProgress,
                "sizeInBytes": .integer.nullable,
                "error": .object(
                    [
                        "code": .string,
                        "detail": .string,
                    ]).nullable,
                "created": .time,
                "finished": .time.nullable,
                "expires": .time.nullable,
            ], required: ["id", "state", "progress", "sizeInBytes", "error", "created", "finished", "expires"]))

    static let userDataProgress: Schema = component(
        "UserDataProgress",
        .object(
            [
                "done": .integer.described("The number of finished parts."),
                "total": .integer.nullable,
                "at": .string.nullable.described("The service whose part is in progress."),
            ]))

    static let user: Schema = component(
        "User",
        .object(
            [
                "id": .uuid,
                "userName": .string.nullable,
                "email": .string.nullable,
                "emailVerified": .boolean,
                "isAnonymous": .boolean,
                "secondFactor": .boolean,
                "profile": .object.described("Visible to everyone who uses the app; at most 16 KiB."),
                "private": .object.described("Visible only to the user and the app's server; at most 16 KiB."),
                "disabled": .boolean,
                "created": .time,
                "updated": .time,
                "lastSignIn": .time,
            ], required: ["id", "profile"]
        ).described("Other users see only `id`, `userName`, `profile` and `created`."))

    static let identity: Schema = component(
        "Identity",
        .object(
            [
                "provider": .string,
                "subject": .string.described("The user's id at the provider."),
                "email": .string.nullable,
                "created": .time,
                "lastUsed": .time,
            ]))

    static let users: Schema = component(
        "Users",
        .object(
            [
                "count": .integer,
                "data": .array(of: .user),
                "next": .uuid.described("The `after` of the next page, if there is one."),
            ], required: ["count", "data"]))

    static let signIn: Schema = component(
        "SignIn",
        .object(
            [
                "accessToken": .string.described("A JWT of the type `at+jwt`, signed with ES256."),
                "expiresIn": .integer.described("The lifetime of the access token in seconds."),
                "refreshToken": .string.described("Can be used once. The session ends after 60 days without use."),
                "user": .user,
            ], required: ["accessToken", "expiresIn", "refreshToken", "user"]))

    static let sessions: Schema = component(
        "Sessions",
        .object(
            [
                "count": .integer,
                "data": .array(
                    of: .object(
                        [
                            "id": .uuid,
                            "device": .string,
                            "current": .boolean,
                            "created": .time,
                            "lastUsed": .time,
                        ])),
            ], required: ["count", "data"]))

    static let count: Schema = component(
        "Count",
        .object(
            [
                "count": .integer
            ], required: ["count"]))

    static let keySet: Schema = component(
        "KeySet",
        .object(
            [
                "keys": .array(of: .object)
            ], required: ["keys"]))

    static let passkeySettings: Schema = component(
        "PasskeySettings",
        .object(
            [
                "rpId": .string.nullable,
                "rpName": .string.nullable,
                "origins": .array(of: .string),
            ], required: ["rpId", "rpName", "origins"]))

    static let passkey: Schema = component(
        "Passkey",
        .object(
            [
                "id": .uuid,
                "name": .string,
                "model": .uuid,
                "backedUp": .boolean,
                "transports": .array(of: .string),
                "created": .time,
                "lastUsed": .time.nullable,
            ]))
}
