import MartletHTTP

extension Schema {
    static let jsonSchema: Schema = component(
        "JSONSchema",
        .object([:]).keyword("additionalProperties", true).described(
            "A JSON Schema (2020-12) with the keywords of `setSchema`."))

    static let schemaReport: Schema = component(
        "SchemaReport",
        .object(
            [
                "checked": .integer.minimum(0).described("The number of stored objects that were checked."),
                "misfits": .integer.minimum(0).described("The number of those that do not fit."),
                "first": .array(
                    of: .object(
                        [
                            "id": .objectID,
                            "pointer": .string.described("The JSON Pointer of the value that does not fit."),
                            "message": .string.described("What is wrong, with the keyword."),
                        ], required: ["id", "pointer", "message"])
                ).maxItems(20).described("The first objects that do not fit, by id."),
            ], required: ["checked", "misfits", "first"]))
}
