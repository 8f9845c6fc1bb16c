import MartletHTTP

extension Schema {
    static let debugFile: Schema = component(
        "DebugFile",
        .object(
            [
                "id": .uuid,
                "name": .string,
                "sha1": .string,
                "sizeInBytes": .integer,
                "state": .oneOf("created", "assembling", "ok", "error"),
                "detail": .string.nullable.described("Why there is an error."),
                "author": .string,
                "created": .time,
                "parts": .array(
                    of: .object(
                        [
                            "debugId": .string,
                            "architecture": .string,
                            "kind": .oneOf("dsym", "executable", "library", "object", "elf", "sources", "other"),
                            "hasDebugInformation": .boolean,
                            "isBroken": .boolean.described("The symbolizer failed on it three times: it is not used."),
                        ])
                ).described("One for each processor."),
            ]))

    static let releaseCommits: Schema = component(
        "ReleaseCommits",
        .array(
            of: .object(
                [
                    "id": .string.length(1, 64),
                    "repository": .string,
                    "author_name": .string,
                    "message": .string,
                    "timestamp": .time,
                ], required: ["id"])
        ).described(
            """
            The newest first; of the first 500 id, repository, author's name, time and first line are kept, in \
            place of those before.
            """))
}
