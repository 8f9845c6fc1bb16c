import MartletHTTP

extension Schema {
    static let job: Schema = component(
        "Job",
        .object(
            [
                "id": .uuid,
                "kind": .oneOf("import", "export", "copy", "index"),
                "state": .oneOf("waiting", "running", "done", "failed", "cancelled"),
                "cancelRequested": .boolean,
                "attempt": .integer,
                "progress": .object(
                    [
                        "done": .integer,
                        "total": .integer.nullable,
                        "message": .string.nullable,
                    ]),
                "result": .object.nullable.described(
                    "The outcome of the job. For a failed import, the invalid records."),
                "error": .object(
                    [
                        "code": .string,
                        "detail": .string,
                    ]).nullable,
                "created": .time,
                "started": .time.nullable,
                "finished": .time.nullable,
            ],
            required: [
                "id", "kind", "state", "cancelRequested", "attempt", "progress", "result", "error", "created",
                "started", "finished",
            ]))
}
