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
                "detail": .string.nullable.described("Why the file could not be assembled or used."),
                "author": .string,
                "created": .time,
                "parts": .array(
                    of: .object(
                        [
                            "debugId": .string,
                            "architecture": .string,
                            "kind": .oneOf("dsym", "executable", "library", "object", "elf", "sources", "other"),
                            "hasDebugInformation": .boolean,
                            "isBroken": .boolean.described(
                                """
                                Whether the symbolizer has failed on this part three times, so that it is no longer \
                                used.
                                """),
                        ])
                ).described("The parts of the file, one for each architecture."),
            ]))

    static let debugFilesToAssemble: Schema = component(
        "DebugFilesToAssemble",
        .map(
            of: .object(
                [
                    "name": .string,
                    "debug_id": .string,
                    "chunks": .array(of: .string).described("The SHA-1s of the chunks, in order."),
                ], required: ["name", "chunks"])
        ).described("By the SHA-1 of each file; at most 500 files."))

    static let debugFileStates: Schema = component(
        "DebugFileStates",
        .map(
            of: .object(
                [
                    "state": .oneOf("not_found", "created", "assembling", "ok", "error"),
                    "missingChunks": .array(of: .string),
                    "detail": .string.nullable,
                    "dif": .object.nullable,
                ], required: ["state"])))

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
            The release's commits, newest first. They replace those stored before. The first 500 are stored, each with \
            its id, repository, author's name, time and the first line of its message.
            """
        ))
}
