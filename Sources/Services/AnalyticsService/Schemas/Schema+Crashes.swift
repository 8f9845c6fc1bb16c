import MartletHTTP

extension Schema {
    static let crashIssue: Schema = component(
        "CrashIssue",
        .object(
            [
                "number": .integer,
                "title": .string,
                "culprit": .string,
                "kind": .oneOf("crash", "error", "message", "broken"),
                "platform": .string,
                "level": .oneOf("debug", "info", "warning", "error", "fatal"),
                "state": .oneOf("unresolved", "ignored", "resolved", "regressed"),
                "changed": .time,
                "resolvedIn": .string.nullable,
                "regressed": .time.nullable,
                "ignoredUntil": .time.nullable,
                "ignoredUntilEvents": .integer.nullable,
                "ignoredUntilUsers": .integer.nullable,
                "assignee": .string.nullable,
                "assigneeName": .string.nullable,
                "isAssigneeGone": .boolean.nullable.described(
                    "Deleted, disabled, or without the right to read crashes; null while auth cannot say."),
                "firstSeen": .time,
                "lastSeen": .time,
                "firstRelease": .string.nullable,
                "lastRelease": .string.nullable,
                "events": .integer,
                "users": .integer,
                "suspectCommits": .array(
                    of: .object(
                        [
                            "id": .string,
                            "repository": .string,
                            "author": .string,
                            "message": .string,
                            "time": .time.nullable,
                            "release": .string,
                            "files": .array(of: .string).maxItems(5),
                        ])
                ).maxItems(5).described("Of one issue only, the newest first."),
                "newestReport": .exactlyOne(
                    .crashReport,
                    .null
                ).described("Of one issue only."),
            ]))

    static let crashIssueList: Schema = component(
        "CrashIssueList",
        .object(
            [
                "count": .integer,
                "data": .array(of: .crashIssue),
                "next": .string.described("The `cursor` of the next page."),
            ]))

    static let crashReport: Schema = component(
        "CrashReport",
        .object(
            [
                "id": .string,
                "received": .time,
                "time": .time,
                "release": .string.nullable,
                "level": .string,
                "handled": .boolean,
                "environment": .string,
                "os": .string,
                "device": .string,
                "configuration": .string,
                "variants": .string,
                "message": .string,
                "content": .object.described("The event in Sentry's form."),
                "previous": .string.nullable,
                "next": .string.nullable,
                "attachments": .array(of: .object),
                "feedback": .array(of: .object),
            ]))

    static let crashCounts: Schema = component(
        "CrashCounts",
        .object(
            [
                "count": .integer,
                "data": .array(
                    of: .object(
                        [
                            "from": .time,
                            "events": .integer,
                        ])),
            ]))

    static let crashAlert: Schema = component(
        "CrashAlert",
        .object(
            [
                "id": .uuid.readOnly,
                "name": .string.length(1, 200),
                "kind": .oneOf("newIssue", "regression", "rate", "crashFree"),
                "enabled": .boolean.defaulting(to: true),
                "levels": .array(of: .oneOf("debug", "info", "warning", "error", "fatal")),
                "releases": .array(of: .string).maxItems(20),
                "scope": .oneOf("issue", "app").described("Of a rate."),
                "measure": .oneOf("events", "users", "sessions"),
                "threshold": .number,
                "windowSeconds": .integer.range(60, 604_800).described("Of a rate."),
                "windowDays": .integer.range(1, 30).described("Of crashFree."),
                "minimum": .integer.described("Of crashFree."),
                "pauseSeconds": .integer.range(60, 86_400).defaulting(to: 300),
                "target": .object(
                    [
                        "type": .oneOf("webhook", "mail", "notification"),
                        "url": .string.described("Of a webhook."),
                        "staff": .array(of: .uuid).items(1, 20).keyword("uniqueItems", true).described(
                            "Of mail: who may read the app's crashes."),
                    ], required: ["type"]),
                "author": .string.readOnly.described("`staff:…` or `key:…`."),
                "created": .time.readOnly,
                "changed": .time.readOnly,
                "fired": .time.nullable.readOnly.described("When it fired last."),
                "lastDelivery": .object(
                    [
                        "id": .uuid,
                        "state": .oneOf("waiting", "done", "dead"),
                        "status": .integer.nullable,
                        "error": .string.nullable,
                        "created": .time,
                        "readers": .array(
                            of: .object(
                                [
                                    "staff": .uuid,
                                    "state": .oneOf("waiting", "sent", "failed", "skipped"),
                                    "reason": .string,
                                    "again": .integer,
                                ])
                        ).nullable.described("Of mail."),
                    ]).nullable.readOnly,
            ], required: ["name", "kind", "target"]))
}
