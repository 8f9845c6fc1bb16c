import MartletHTTP

extension Schema {
    static let objectID: Schema = component("ObjectID", .string.pattern(#"^[A-Za-z0-9_][A-Za-z0-9_.:@~-]{0,127}$"#))

    static let document: Schema = component(
        "Document",
        .object(
            [
                "_id": .objectID
            ]).keyword("additionalProperties", true).described(
                """
                A JSON object of at most 32 levels. Top-level names have 1 to 128 bytes, do not begin with `$` or `_`, \
                and contain no dots, backslashes or control characters. The server's own fields may be sent back. Of \
                these, only `_id`, `_readers` and `_writers` have an effect.
                """))

    static let storedObject: Schema = component(
        "Object",
        .object(
            [
                "_id": .objectID,
                "created": .timestamp,
                "updated": .timestamp,
                "deleted": .exactlyOne(
                    .timestamp,
                    .null
                ).described("When the object was removed, or null."),
                "_version": .integer.minimum(1).described("Increases by one with every write."),
            ], required: ["_id", "created", "updated", "deleted", "_version"]
        ).keyword("additionalProperties", true).described("The document with the server's own fields."))
}
