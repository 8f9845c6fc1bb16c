import MartletHTTP

extension Schema {
    static let hook: Schema = component(
        "Hook",
        .object(
            [
                "name": .string,
                "event": .oneOf("beforeSave", "afterSave", "beforeDelete", "afterDelete", "function", "scanFile"),
                "collection": .string.described(
                    "Required for all events except `function` and `scanFile`."),
                "url": .uri.described(
                    "An https URL. It must be on the public internet, unless the operator allows other addresses."),
                "timeoutMilliseconds": .integer.range(100, 10_000).defaulting(to: 5000),
                "enabled": .boolean.defaulting(to: true),
                "callers": .array(of: .string).described(
                    "Who may call a function: `*`, `authenticated`, users' ids or `role:<name>`."),
                "created": .time.readOnly,
                "updated": .time.readOnly,
            ], required: ["event", "url"]))

    static let newHookSecret: Schema = component(
        "NewHookSecret",
        .object(
            [
                "hook": .hook,
                "secret": .string.described("The signing secret as defined by Standard Webhooks: `whsec_<base64>`."),
            ], required: ["hook", "secret"]))

    static let delivery: Schema = component(
        "Delivery",
        .object(
            [
                "id": .string.described("Sent as the header `webhook-id` with every attempt."),
                "collection": .string.described("`_File` if the hook was called for a file."),
                "object": .string.described("The object's id, or the file's path."),
                "state": .oneOf("waiting", "done", "dead"),
                "attempts": .integer,
                "status": .integer.described("The HTTP status of the last answer."),
                "error": .string.described("Why the last attempt failed."),
                "nextAttempt": .time,
                "created": .time,
                "finished": .time,
            ], required: ["id", "collection", "object", "state", "attempts", "created"]))

    static let hookFailure: Schema = component(
        "HookFailure",
        .object(
            [
                "at": .time,
                "outcome": .oneOf("status", "answer", "timeout", "unreachable", "lost", "address"),
                "status": .integer.described("The HTTP status of the hook's answer, if there was one."),
                "error": .string,
                "milliseconds": .integer.described("How long the call took."),
                "unnoted": .integer.described("The number of failures before this one that were not recorded."),
            ], required: ["at", "outcome", "error", "milliseconds", "unnoted"]))
}
