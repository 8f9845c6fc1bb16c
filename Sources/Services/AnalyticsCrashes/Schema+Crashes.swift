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
                    """
                    Whether the assignee is deleted, disabled or no longer allowed to read crashes; null if the auth \
                    service is unavailable.
                    """),
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
                ).maxItems(5).described(
                    "The commits that may have caused the issue, newest first. Only when a single issue is read."),
                "newestReport": .exactlyOne(
                    .crashReport,
                    .null
                ).described("The newest report that is kept, or null. Only when a single issue is read."),
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
                "content": .object.described("The event in Sentry's format."),
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
                "scope": .oneOf("issue", "app").described(
                    "`rate` only: whether each issue is counted on its own, or all issues of the app together."),
                "measure": .oneOf("events", "users", "sessions"),
                "threshold": .number,
                "windowSeconds": .integer.range(60, 604_800).described("`rate` only: the length of the time window."),
                "windowDays": .integer.range(1, 30).described(
                    "`crashFree` only: the length of the time window in UTC days, including today."),
                "minimum": .integer.described(
                    "`crashFree` only: the number of sessions or users below which the alert does not fire."),
                "pauseSeconds": .integer.range(60, 86_400).defaulting(to: 300),
                "target": .object(
                    [
                        "type": .oneOf("webhook", "mail", "notification"),
                        "url": .string.described("`webhook` only: where messages are posted."),
                        "staff": .array(of: .uuid).items(1, 20).keyword("uniqueItems", true).described(
                            "`mail` only: the recipients, who must have the right to read the app's crashes."),
                    ], required: ["type"]),
                "author": .string.readOnly.described("Who created or last changed the alert: `staff:…` or `key:…`."),
                "created": .time.readOnly,
                "changed": .time.readOnly,
                "fired": .time.nullable.readOnly.described("When the alert last fired."),
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
                        ).nullable.described("`mail` only: the state of each recipient."),
                    ]).nullable.readOnly,
            ], required: ["name", "kind", "target"]))

    static let sentryError: Schema = component(
        "SentryError",
        .object(
            [
                "detail": .string,
                "causes": .array(of: .string),
            ], required: ["detail", "causes"]))
}
