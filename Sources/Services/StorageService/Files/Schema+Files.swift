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

    static let fileRecord: Schema = component(
        "FileRecord",
        .object(
            [
                "name": .string.described("The last part of the path."),
                "path": .string,
                "size": .integer.minimum(0).described("In bytes."),
                "contentType": .string.described("Determined from the bytes."),
                "sha256": .string.described("In hexadecimal digits."),
                "owner": .string.described("The id of the user who stored the file. Absent if no user did."),
                "created": .timestamp,
                "updated": .timestamp,
                "_version": .integer.minimum(1).described("Increases by one with each upload to the path."),
                "_readers": .array(of: .string).described("Absent if the file has no list of readers."),
                "_writers": .array(of: .string).described("Absent if the file has no list of writers."),
                "state": .oneOf("scanning", "refused").described("Absent if the file can be read."),
                "reason": .string.described("Why the file was refused, if the caller may know."),
                "_object": .object(
                    ["className": .string, "objectId": .string, "key": .string],
                    required: ["className", "objectId", "key"]
                ).described("The field that the file is bound to, if the caller may know."),
            ],
            required: ["name", "path", "size", "contentType", "sha256", "created", "updated", "_version"]))
}
