import MartletHTTP

extension Schema {
    static let rules: Schema = component(
        "Rules",
        .object(
            [
                "rules": .map(of: .array(of: .string).maxItems(100)).described(
                    "Of `find`, `get`, `count`, `create`, `update`, `delete`, `addField`."),
                "hidden": .map(of: .array(of: .string).maxItems(100)).described("Top-level field → who sees it."),
                "defaults": .object(
                    [
                        "readers": .array(of: .string).maxItems(100),
                        "writers": .array(of: .string).maxItems(100),
                    ]).described(
                        """
                        Readers and writers of an object created without any; `owner` is the user who creates it.
                        """),
            ]).described(
                """
                What is absent is open to every client. A grantee is `*`, `authenticated`, a user's id, \
                `role:<name>` or `field:<path>` (whom the object's field names); an empty list leaves it to the \
                master key.
                """))

    static let collectionName: Schema = component("CollectionName", .string.pattern(#"^[A-Za-z][A-Za-z0-9_-]{0,62}$"#))

    static let collection: Schema = component(
        "Collection",
        .object(
            [
                "name": .collectionName,
                "estimatedCount": .integer.minimum(0).described(
                    "PostgreSQL's estimate, which may lag behind by minutes."),
                "sizeInBytes": .integer.minimum(0).described("With indexes."),
            ], required: ["name", "estimatedCount", "sizeInBytes"]))

    static let newName: Schema = component(
        "NewName",
        .object(
            [
                "name": .collectionName
            ], required: ["name"]))

    static let newIndex: Schema = component(
        "NewIndex",
        .object(
            [
                "name": .string.length(1, 128).described("Default, the fields joined by `_`."),
                "fields": .indexFields,
                "unique": .boolean.defaulting(to: false).described(
                    "Among objects that are not removed; `ordered` only."),
                "kind": .oneOf("ordered", "prefix", "text", "geo").defaulting(to: "ordered").described(
                    "All but `ordered` have one field."),
                "language": .string.defaulting(to: "english").described(
                    "PostgreSQL's name of a text search configuration; `text` only."),
            ], required: ["fields"]))

    static let index: Schema = component(
        "Index",
        .object(
            [
                "name": .string,
                "fields": .indexFields,
                "unique": .boolean,
                "kind": .oneOf("ordered", "prefix", "text", "geo").defaulting(to: "ordered").described(
                    "All but `ordered` have one field."),
                "language": .string.defaulting(to: "english").described(
                    "PostgreSQL's name of a text search configuration; `text` only."),
                "state": .oneOf("building", "ready", "failed"),
                "error": .object(
                    [
                        "code": .string,
                        "detail": .string,
                    ], required: ["code", "detail"]
                ).described("Why it failed."),
                "job": .uuid.described("What builds it or did not."),
            ], required: ["name", "kind", "fields", "unique", "state"]))

    static let indexFields: Schema = component(
        "IndexFields",
        .array(of: .string).items(1, 4).described("Fields or dotted paths; `-` in front for descending order."))
}
