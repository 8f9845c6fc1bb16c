import MartletHTTP

/// The query parameters of lists.
extension RouteParameter {
    static let filter: RouteParameter = .query(
        "where", .string.examples("{\"age\":{\"$gte\":18}}"),
        """
        A [Filter](#filter) as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend on \
        other objects or the current time.
        """)

    static let order: RouteParameter = .query(
        "order", .string.defaulting(to: "_id").examples("name,-age"),
        """
        1 to 4 fields or dotted paths, separated by commas. A leading `-` means descending order. Objects with \
        equal values are ordered by `_id`, so that pages do not overlap.
        """)

    static let limit: RouteParameter = .query("limit", .integer.range(0, 1_000).defaulting(to: 100))

    static let skip: RouteParameter = .query("skip", .integer.range(0, 1_000_000).defaulting(to: 0))

    static let cursor: RouteParameter = .query(
        "cursor", .string.maxLength(4_096),
        """
        Empty for the first page, and then the `cursor` of the previous page, with the same order and filter. \
        Cannot be combined with `skip`.
        """)

    static let keys: RouteParameter = .query(
        "keys", .string.examples("title,done"),
        """
        1 to 100 top-level fields to return, separated by commas. The server's own fields are always \
        returned.
        """)

    static let excludeKeys: RouteParameter = .query(
        "excludeKeys", .string.examples("text"), "1 to 100 top-level fields to omit, separated by commas.")

    static let include: RouteParameter = .query(
        "include", .string.examples("author,author.team"),
        """
        Up to 20 paths to Pointers, separated by commas and at most 4 levels deep, or `*` for all. Each Pointer is \
        replaced by its object, or omitted if the object does not exist or the caller may not read it.
        """)

    static let count: RouteParameter = .query(
        "count", .flag,
        """
        Whether `count` in the answer is the number of all matches instead of the number of objects in `data`.
        """)

    static let deleted: RouteParameter = .query("deleted", .flag, "Whether to include removed objects.")
}

extension Schema {
    static let liveVersion: Schema = component(
        "LiveVersion",
        .object(
            [
                "version": .string.nullable.described("The `version` in the document, or else its number."),
                "date": .time.nullable,
            ], required: ["version", "date"]
        ).described(
            """
            The version most recently published in this environment of the app. Both members are null if none is live.
            """))

    static let envelope: Schema = component(
        "Envelope",
        .object(
            [
                "config": .liveVersion,
                "translation": .liveVersion,
                "count": .integer.minimum(0).described(
                    "The number of objects in `data`, or of all matches with `count=true`."),
                "data": .array(of: .storedObject),
                "cursor": .string.described(
                    "The cursor of the next page, or null on the last one. Absent if the request has no `cursor`."),
            ], required: ["config", "translation", "count", "data"]))
}

extension RouteAnswer {
    /// A page of a list.
    static let page: RouteAnswer = .page(200)

    static func page(_ status: Int) -> RouteAnswer {
        .answer(status, "The envelope with the objects or values.", .json(.envelope))
            .header(
                "Config-Version",
                .string.described(
                    """
                    The most recently published configuration, as `"<version>";date="<RFC 3339>"`. Absent if none \
                    is live.
                    """)
            )
            .header(
                "Translation-Version", .string.described("The most recently published translations, in the same form."))
    }
}
