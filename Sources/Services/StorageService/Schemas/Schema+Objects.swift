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
                Any JSON object, at most 32 levels deep. A top-level name has 1 to 128 bytes, no dot, backslash or \
                control character, and no `$` or `_` in front. The fields of the server may be sent back; apart from \
                `_id` they are ignored.
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
                ).described("When the object was removed; null unless it was."),
                "_version": .integer.minimum(1).described("Grows by one with every write."),
            ], required: ["_id", "created", "updated", "deleted", "_version"]
        ).keyword("additionalProperties", true).described("The document with the fields the server keeps."))
}
