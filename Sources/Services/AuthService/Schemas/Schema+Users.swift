import MartletHTTP

extension Schema {
    static let newReceipt: Schema = component(
        "NewReceipt",
        .object(
            [
                "id": .uuid,
                "state": .oneOf("erasing"),
                "token": .string.described("Opens the receipt."),
            ], required: ["id", "state", "token"]))

    static let receipt: Schema = component(
        "Receipt",
        .object(
            [
                "id": .uuid,
                "state": .oneOf("erasing", "complete"),
                "erased": .map(of: .map(of: .integer)).described("Service → kind of data → how many."),
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
                "done": .integer.described("Parts that are done."),
                "total": .integer.nullable,
                "at": .string.nullable.described("The service whose part is under way."),
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
                "profile": .object.described("What everybody may see, up to 16 KiB."),
                "private": .object.described("What the user alone may see, up to 16 KiB."),
                "disabled": .boolean,
                "created": .time,
                "updated": .time,
                "lastSignIn": .time,
            ], required: ["id", "profile"]
        ).described("Others see `id`, `userName`, `profile` and `created` only."))

    static let identity: Schema = component(
        "Identity",
        .object(
            [
                "provider": .string,
                "subject": .string.described("Who the user is there."),
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
                "next": .uuid.described("`after` of the next page, where there is one."),
            ], required: ["count", "data"]))

    static let signIn: Schema = component(
        "SignIn",
        .object(
            [
                "accessToken": .string.described("A JWT, ES256, `typ` at+jwt."),
                "expiresIn": .integer.described("Seconds that the access token lasts."),
                "refreshToken": .string.described("Good once; the session ends when it is idle for 60 days."),
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
                "rpId": .string,
                "rpName": .string,
                "origins": .array(of: .string),
            ]))

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
