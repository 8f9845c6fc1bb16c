import MartletHTTP

/// The query parameters of lists.
extension RouteParameter {
    static let filter: RouteParameter = .query(
        "where", .string.examples("{\"age\":{\"$gte\":18}}"),
        """
        A filter (see `Filter`) as JSON text. What a stream or the sync feed follows has at most 8 KiB and \
        no filters in filters.
        """)

    static let order: RouteParameter = .query(
        "order", .string.defaulting(to: "_id").examples("name,-age"),
        """
        1 to 4 fields or dotted paths, separated by commas; `-` in front for descending order. `_id` follows \
        last, so that pages do not overlap.
        """)

    static let limit: RouteParameter = .query("limit", .integer.range(0, 1_000).defaulting(to: 100))

    static let skip: RouteParameter = .query("skip", .integer.range(0, 1_000_000).defaulting(to: 0))

    static let cursor: RouteParameter = .query(
        "cursor", .string.maxLength(4_096),
        """
        Empty: begins a list that can be continued; the envelope has a `cursor` while there is more. Else \
        where to go on, with the same order and filter. Not together with `skip`.
        """)

    static let keys: RouteParameter = .query(
        "keys", .string.examples("title,done"),
        """
        1 to 100 top-level fields, separated by commas, to answer with. The fields of the server always \
        come.
        """)

    static let excludeKeys: RouteParameter = .query(
        "excludeKeys", .string.examples("text"), "1 to 100 top-level fields, separated by commas, to leave out.")

    static let include: RouteParameter = .query(
        "include", .string.examples("author,author.team"),
        """
        Up to 20 paths to Pointers, separated by commas, at most 4 deep, or `*`: the objects come in the \
        place of the Pointers. One that does not exist, or that the asker may not get, is left out.
        """)

    static let count: RouteParameter = .query(
        "count", .flag,
        """
        Whether `count` in the answer is the number of all matches rather than of the objects in `data`.
        """)

    static let deleted: RouteParameter = .query("deleted", .flag, "Whether to answer removed objects too.")
}

extension Schema {
    static let liveVersion: Schema = component(
        "LiveVersion",
        .object(
            [
                "version": .string.nullable.described("The document's own `version`, or its number."),
                "date": .time.nullable,
            ], required: ["version", "date"]
        ).described(
            """
            The one that was published last in this environment of the app; null where nothing is live.
            """))

    static let envelope: Schema = component(
        "Envelope",
        .object(
            [
                "config": .liveVersion,
                "translation": .liveVersion,
                "count": .integer.minimum(0).described(
                    "Number of objects in `data`, or with `count=true` of all matches."),
                "data": .array(of: .storedObject),
                "cursor": .string.described(
                    "Where to go on; only in a list asked for with `cursor`, and only while there is more."),
            ], required: ["config", "translation", "count", "data"]))
}

extension RouteAnswer {
    /// A page of a list.
    static let page: RouteAnswer = .page(200)

    static func page(_ status: Int) -> RouteAnswer {
        .answer(status, "The envelope with objects.", .json(.envelope))
            .header(
                "Config-Version",
                .string.described(
                    """
                    The configuration that was published last, "<version>";date="<RFC 3339>"; absent where none is live.
                    """)
            )
            .header("Translation-Version", .string.described("The same of translations."))
    }
}
