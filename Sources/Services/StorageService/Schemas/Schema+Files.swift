import MartletHTTP

extension Schema {
    static let fileUsage: Schema = component(
        "FileUsage",
        .object(
            [
                "files": .integer,
                "bytes": .integer,
                "unfinishedBytes": .integer.described("Of resumable uploads that are not finished."),
                "maximumFiles": .integer.described("Absent: there is no limit."),
                "maximumBytes": .integer.described("Absent: there is no limit."),
                "isDefault": .boolean.described("Whether the limits are the server's."),
            ], required: ["files", "bytes", "unfinishedBytes", "isDefault"]))
}
