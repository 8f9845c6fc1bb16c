import MartletHTTP

extension Schema {
    static let app: Schema = component(
        "App",
        .object(
            [
                "id": .string,
                "number": .integer,
                "name": .string,
                "bundleIds": .array(of: .string),
                "storeId": .string.nullable,
                "icon": .anyOf(
                    .picture,
                    .null),
                "settings": .object,
                "created": .time,
                "updated": .time,
                "archived": .time.nullable,
            ],
            required: [
                "id", "number", "name", "bundleIds", "storeId", "icon", "settings", "created", "updated", "archived",
            ]))

    static let appName: Schema = component(
        "AppName",
        .object(
            [
                "id": .string,
                "number": .integer,
                "name": .string,
                "archived": .time.nullable,
            ], required: ["id", "number", "name", "archived"]
        ).closed)

    static let picture: Schema = component(
        "Picture",
        .object(
            [
                "id": .uuid.described("The id of a version's picture; icons have none."),
                "contentType": .oneOf("image/png", "image/jpeg", "image/webp"),
                "sizeInBytes": .integer,
                "sha256": .string,
            ], required: ["contentType", "sizeInBytes", "sha256"]))

    static let version: Schema = component(
        "Version",
        .object(
            [
                "number": .string,
                "build": .string,
                "state": .oneOf("planned", "released"),
                "releaseDate": .day.nullable,
                "notes": .map(of: .string),
                "pictures": .array(of: .picture),
                "created": .time,
                "updated": .time,
            ], required: ["number", "build", "state", "releaseDate", "notes", "pictures", "created", "updated"]))

    static let key: Schema = component(
        "Key",
        .object(
            [
                "id": .uuid,
                "kind": .oneOf("client", "secret", "ingest", "evaluation", "master"),
                "environment": .oneOf("live", "test").nullable,
                "label": .string,
                "hint": .string.described("The last characters of the key's text."),
                "networks": .array(of: .string).nullable,
                "scopes": .array(of: .string).nullable,
                "created": .time,
                "expires": .time.nullable,
                "revoked": .time.nullable,
                "lastUsed": .time.nullable,
            ],
            required: [
                "id", "kind", "environment", "label", "hint", "networks", "scopes", "created", "expires", "revoked",
                "lastUsed",
            ]))
}
