import MartletHTTP

extension Schema {
    static let fileUsage: Schema = component(
        "FileUsage",
        .object(
            [
                "files": .integer,
                "bytes": .integer,
                "unfinishedBytes": .integer.described("The declared size of unfinished resumable uploads."),
                "maximumFiles": .integer.described("Absent if there is no limit."),
                "maximumBytes": .integer.described("Absent if there is no limit."),
                "isDefault": .boolean.described(
                    "Whether the server's limits apply, because the app has none of its own."),
            ], required: ["files", "bytes", "unfinishedBytes", "isDefault"]))
}
