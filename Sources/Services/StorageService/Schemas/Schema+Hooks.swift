import MartletHTTP

extension Schema {
    static let hook: Schema = component(
        "Hook",
        .object(
            [
                "name": .string,
                "event": .oneOf("beforeSave", "afterSave", "beforeDelete", "afterDelete", "function"),
                "collection": .string.described("Required but for functions."),
                "url": .uri.described("https, of the public internet unless the operator says otherwise."),
                "timeoutMilliseconds": .integer.range(100, 10_000).defaulting(to: 5000),
                "enabled": .boolean.defaulting(to: true),
                "callers": .array(of: .string).described(
                    "Of a function: `*`, `authenticated`, users' ids, `role:<name>`."),
                "created": .time.readOnly,
                "updated": .time.readOnly,
            ], required: ["event", "url"]))

    static let newHookSecret: Schema = component(
        "NewHookSecret",
        .object(
            [
                "hook": .hook,
                "secret": .string.described("`whsec_<base64>` of Standard Webhooks."),
            ], required: ["hook", "secret"]))

    static let delivery: Schema = component(
        "Delivery",
        .object(
            [
                "id": .string.described("The header `webhook-id` of every attempt."),
                "collection": .string,
                "object": .string.described("The object's id."),
                "state": .oneOf("waiting", "done", "dead"),
                "attempts": .integer,
                "status": .integer.described("Of the last answer."),
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
                "status": .integer.described("Of its answer, if that was the failure."),
                "error": .string,
                "milliseconds": .integer.described("How long the call took."),
                "unnoted": .integer.described("Further ones before this that were not kept."),
            ], required: ["at", "outcome", "error", "milliseconds", "unnoted"]))
}
