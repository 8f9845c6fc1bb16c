import MartletHTTP

extension Schema {
    static let messageDelivery: Schema = component(
        "MessageDelivery",
        .object(
            [
                "installation": .uuid,
                "state": .oneOf("queued", "sending", "accepted", "failed", "unknown", "cancelled"),
                "variant": .integer.described("The index of the text variant."),
                "attempts": .integer,
                "badge": .integer,
                "due": .time,
                "updated": .time,
                "pushId": .uuid.described("Sent to APNs as `apns-id`. The same for each attempt."),
                "receipt": .string.described("The push service's id of the message, if it is not `pushId`."),
                "reason": .string.described("The push service's reason, or Martlet's own, in lower case."),
                "opened": .time,
            ], required: ["installation", "state", "variant", "attempts", "due", "updated", "pushId"]))

    static let notificationRule: Schema = component(
        "NotificationRule",
        .object(
            [
                "name": .string.readOnly,
                "description": .string.maxLength(1_000),
                "enabled": .boolean.defaulting(to: true),
                "when": .object(
                    [
                        "collection": .string,
                        "events": .array(of: .oneOf("created", "updated", "deleted")),
                        "every": .object(
                            [
                                "minutes": .integer.range(1, 40_320)
                            ]),
                        "cron": .string,
                        "timeZone": .string.defaulting(to: "UTC"),
                        "alert": .oneOf("crash"),
                    ]).described(
                        """
                        When the rule acts. One of `{collection, events}`, `{every: {minutes}}`, `{cron, timeZone}` and \
                        `{alert: "crash"}`.
                        """),
                "where": .object.described(
                    "A condition on the facts of the event, in the MongoDB-like syntax of flags."),
                "if": .any.described("A condition on the facts of the event, in JsonLogic."),
                "to": .array(
                    of: .object(
                        [
                            "field": .string.described("The path to user ids, pointers to users, or a relation."),
                            "of": .object(
                                [
                                    "collection": .string,
                                    "id": .string.described("The path to the ids of the objects that have the field."),
                                ]),
                            "user": .string,
                            "channel": .string,
                            "installation": .uuid,
                            "audience": .object.described("An audience as in messages. It must be the only source."),
                        ])
                ).maxItems(20),
                "except": .array(of: .string).described("Paths to users who are excluded, such as `actor`."),
                "template": .string,
                "variables": .map(of: .string).described(
                    "The values of the template's placeholders: texts that may contain placeholders themselves."),
                "content": .object.described(
                    "Instead of a template: a message's content with placeholders such as `{{object.title}}`."),
                "mail": .object(
                    [
                        "template": .string.described("The name of a mail template."),
                        "users": .array(of: .object).maxItems(20).described(
                            "Sources as in `to` that name users. Without it, the users of `to`."),
                        "variables": .map(of: .string).described(
                            "The values of the template's placeholders: texts that may contain placeholders themselves."
                        ),
                        "topic": .string.pattern(#"^[a-z0-9._-]{1,64}$"#).described(
                            "The topic of the mail, from which people can unsubscribe."),
                        "language": .string,
                        "replyTo": .string.format("email"),
                    ], required: ["template"]),
                "webhook": .object(
                    [
                        "url": .uri
                    ]),
                "limit": .object(
                    [
                        "count": .integer.range(1, 100_000).defaulting(to: 600),
                        "seconds": .integer.range(1, 86_400).defaulting(to: 60),
                    ]),
                "expiresSeconds": .integer.range(60, 2_419_200).defaulting(to: 86400),
                "version": .integer.readOnly,
                "author": .string.readOnly,
                "created": .time.readOnly,
                "updated": .time.readOnly,
                "next": .time.readOnly,
                "acted": .integer.readOnly,
                "lastActed": .time.readOnly,
                "problem": .object(
                    [
                        "at": .string,
                        "outcome": .string,
                        "detail": .string,
                    ]).readOnly,
                "state": .oneOf("active", "disabled", "stuck").readOnly.described(
                    "`stuck`: the rule fails to process events and is being retried."),
                "since": .time.readOnly.described("When the rule became stuck."),
                "reason": .string.readOnly,
                "secret": .string.readOnly.described("The secret of a new webhook. It is not shown again."),
            ], required: ["when"]))

    static let pushAddress: Schema = component(
        "PushAddress",
        .object(
            [
                "service": .oneOf("apns", "fcm", "webpush"),
                "token": .string.maxLength(4_096),
                "sandbox": .boolean.described("Whether the app was signed for development (`aps-environment`)."),
                "bundleId": .string.described(
                    "The app's bundle id. Without it, the first bundle id of the credential."),
                "subscription": .object(
                    [
                        "endpoint": .string.maxLength(1_000),
                        "expirationTime": .number.nullable,
                        "keys": .object(
                            [
                                "p256dh": .string,
                                "auth": .string,
                            ]),
                    ]).described("The result of the browser's `PushSubscription.toJSON()`."),
            ], required: ["service"]
        ).described(
            """
            The push service that reaches the device, and the device's address there: `token` for `apns` and `fcm`, \
            `subscription` for `webpush`. `apns` requires `sandbox`.
            """))

    static let installationFields: Schema = component(
        "InstallationFields",
        .object(
            [
                "platform": .oneOf("ios", "macos", "watchos", "tvos", "visionos", "android", "web").described(
                    "Required with `PUT`."),
                "push": .exactlyOne(
                    .pushAddress,
                    .null),
                "appVersion": .string.maxLength(100).nullable,
                "osVersion": .string.maxLength(100).nullable,
                "deviceModel": .string.maxLength(100).nullable,
                "locale": .string.nullable.described("A BCP 47 language tag."),
                "timeZone": .string.nullable.described("An IANA time zone, such as `Europe/Berlin`."),
                "channels": .array(of: .string.pattern(#"^[A-Za-z0-9._:-]{1,64}$"#)).maxItems(100),
                "attributes": .object.described("At most 4 KiB."),
                "badge": .integer.range(0, 100_000),
            ]))

    static let installation: Schema = component(
        "Installation",
        .object(
            [
                "id": .uuid,
                "platform": .string,
                "push": .exactlyOne(
                    .object(
                        [
                            "service": .string,
                            "token": .string.described("The first characters of the token."),
                            "sandbox": .boolean,
                            "bundleId": .string.nullable,
                            "registered": .time.nullable,
                        ]),
                    .null),
                "user": .string.nullable,
                "appVersion": .string.nullable,
                "osVersion": .string.nullable,
                "deviceModel": .string.nullable,
                "locale": .string.nullable,
                "timeZone": .string.nullable,
                "badge": .integer,
                "channels": .array(of: .string),
                "attributes": .object,
                "created": .time,
                "updated": .time,
                "seen": .time,
            ]))

    static let pushCredentialUpload: Schema = component(
        "PushCredentialUpload",
        .object(
            [
                "key": .string,
                "keyId": .string,
                "teamId": .string,
                "bundleIds": .array(of: .string).items(1, 20),
                "sandbox": .object(
                    [
                        "key": .string,
                        "keyId": .string,
                    ], required: ["key", "keyId"]),
                "serviceAccount": .any.described("Google's key file, as a JSON object or as text."),
                "subject": .string.described("A contact URL that begins with `mailto:` or `https:`."),
                "privateKey": .string.described("32 bytes in base64url, or PEM. Without it, a key is generated."),
            ]).described(
                """
                The members depend on the kind. `apns`: `key` (the text of the .p8 file), `keyId`, `teamId`, \
                `bundleIds`, and optionally `sandbox`. `fcm`: `serviceAccount`. `webpush`: `subject`, and optionally \
                `privateKey`.
                """))

    static let pushCredential: Schema = component(
        "PushCredential",
        .object(
            [
                "kind": .oneOf("apns", "fcm", "webpush", "smtp"),
                "keyId": .string,
                "teamId": .string,
                "bundleIds": .array(of: .string),
                "sandbox": .object(
                    [
                        "keyId": .string
                    ]),
                "projectId": .string,
                "clientEmail": .string,
                "subject": .string,
                "publicKey": .string,
                "author": .string,
                "updated": .time,
                "broken": .exactlyOne(
                    .object(
                        [
                            "since": .time,
                            "reason": .string,
                        ]),
                    .null
                ).described(
                    "When and why the push service began to reject the credential. Only occasional probes are sent."
                ),
            ]))

    static let pushOutcome: Schema = component(
        "PushOutcome",
        .object(
            [
                "outcome": .oneOf("accepted", "failed"),
                "id": .string.described("The push service's id of the message."),
                "uniqueId": .string.described("`apns-unique-id`, from the APNs sandbox only."),
                "meaning": .oneOf("notSent", "unknown", "deviceGone", "messageRejected", "backOff", "credentialBroken"),
                "reason": .string.described("The push service's reason."),
                "status": .integer,
            ]))

    static let pushTexts: Schema = component(
        "PushTexts",
        .object(
            [
                "title": .string.maxLength(1_000),
                "subtitle": .string.maxLength(1_000),
                "body": .string.maxLength(4_096),
            ]))

    static let pushContent: Schema = component(
        "PushContent",
        .object(
            [
                "title": .string.maxLength(1_000),
                "subtitle": .string.maxLength(1_000),
                "body": .string.maxLength(4_096),
                "localized": .map(of: .pushTexts).keyword("maxProperties", 100),
                "variants": .array(
                    of: .object(
                        [
                            "name": .string.maxLength(40),
                            "weight": .integer.range(1, 1_000),
                            "title": .string,
                            "subtitle": .string,
                            "body": .string,
                            "localized": .object,
                        ], required: ["name"])
                ).items(2, 4),
                "badge": .exactlyOne(
                    .integer.range(0, 99_999),
                    .oneOf("increment")),
                "sound": .string.maxLength(100),
                "image": .uri,
                "category": .string.maxLength(100),
                "thread": .string.maxLength(200),
                "collapseId": .string.maxLength(64),
                "data": .object,
                "silent": .boolean,
                "priority": .oneOf("high", "normal", "low"),
                "pushType": .oneOf(
                    "alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location",
                    "mdm", "pushtotalk", "voip", "widgets"),
                "liveActivity": .object(
                    [
                        "event": .oneOf("start", "update", "end"),
                        "attributesType": .string,
                        "attributes": .any,
                        "contentState": .any,
                        "stale": .time,
                        "dismissal": .time,
                    ], required: ["event"]),
                "interruptionLevel": .oneOf("passive", "active", "time-sensitive", "critical"),
                "relevance": .number.range(0, 1),
                "ttl": .integer.range(0, 2_419_200).described(
                    "How long the push service keeps the message, in seconds."),
                "atMostOnce": .boolean,
            ]).described(
                """
                The content of a push message. In templates, each text may contain `{{name}}` and \
                `{{#name}}…{{/name}}`.
                """))

    static let pushAudience: Schema = component(
        "PushAudience",
        .object(
            [
                "everyone": .boolean,
                "installations": .array(of: .uuid).maxItems(1_000),
                "users": .array(of: .string.maxLength(200)).maxItems(1_000),
                "channels": .array(of: .string.maxLength(200)).maxItems(100),
                "platforms": .array(of: .oneOf("ios", "macos", "watchos", "tvos", "visionos", "android", "web")),
                "segment": .string,
                "where": .object.described("A condition on installations, in the syntax of flags."),
                "except": .object(
                    [
                        "users": .array(of: .string).maxItems(1_000)
                    ]),
            ]).described("The installations that meet all of the given conditions."))

    static let pushTiming: Schema = component(
        "PushTiming",
        .object(
            [
                "localTime": .string.pattern(#"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$"#),
                "timeZone": .string,
                "quietHours": .object(
                    [
                        "from": .string,
                        "to": .string,
                    ], required: ["from", "to"]),
                "cap": .object(
                    [
                        "count": .integer.range(1, 1_000),
                        "seconds": .integer.range(60, 2_678_400),
                    ], required: ["count", "seconds"]),
            ]))

    static let pushCounts: Schema = component(
        "PushCounts",
        .object(
            [
                "waiting": .integer,
                "accepted": .integer,
                "failed": .integer,
                "unknown": .integer,
                "cancelled": .integer,
                "opened": .integer,
            ]))

    static let pushMessage: Schema = component(
        "PushMessage",
        .object(
            [
                "id": .uuid,
                "state": .oneOf("scheduled", "planning", "sending", "sent", "cancelled", "failed"),
                "isPaused": .boolean,
                "author": .string,
                "template": .string,
                "content": .pushContent,
                "audience": .pushAudience,
                "timing": .pushTiming,
                "due": .time,
                "expires": .time,
                "planned": .integer,
                "isPlanned": .boolean,
                "problem": .string,
                "created": .time,
                "finished": .time,
                "counts": .pushCounts,
                "variants": .array(of: .pushCounts),
            ]))

    static let pushTemplate: Schema = component(
        "PushTemplate",
        .object(
            [
                "name": .string,
                "variables": .array(of: .string),
                "content": .pushContent,
                "author": .string,
                "version": .integer,
                "updated": .time,
            ]))

    static let pushSegment: Schema = component(
        "PushSegment",
        .object(
            [
                "name": .string,
                "audience": .pushAudience,
                "author": .string,
                "version": .integer,
                "updated": .time,
            ]))

    static let pushClientRules: Schema = component(
        "PushClientRules",
        .object(
            [
                "templates": .map(
                    of: .object(
                        [
                            "maximumRecipients": .integer.range(1, 100).defaulting(to: 1),
                            "channels": .array(of: .string).maxItems(50).described(
                                "Channel names, or prefixes followed by `*`."),
                            "when": .any,
                            "limit": .pushClientLimit,
                            "recipientLimit": .pushClientLimit,
                        ], required: ["limit"])
                ).keyword("maxProperties", 100)
            ], required: ["templates"]))

    static let pushClientLimit: Schema = component(
        "PushClientLimit",
        .object(
            [
                "count": .integer.range(1, 10_000),
                "seconds": .integer.range(1, 2_678_400),
            ], required: ["count", "seconds"]))

    static let pushClientMessage: Schema = component(
        "PushClientMessage",
        .object(
            [
                "id": .uuid,
                "template": .string,
                "created": .time,
            ], required: ["id", "template", "created"]))

    static let pushWithoutCredential: Schema = component(
        "PushWithoutCredential",
        .array(
            of: .object(
                [
                    "service": .oneOf("apns", "fcm", "webpush"),
                    "devices": .integer,
                    "isExact": .boolean,
                ], required: ["service", "devices", "isExact"])
        ).described(
            """
            The number of devices on each push service for which the app has no credential. Missing if there are none.
            """))

    static let tbAnalyticsNotification: Schema = component(
        "TBAnalyticsNotification",
        .object(
            [
                "_id": .string.maxLength(64).described(
                    "An id chosen by the sender. A notification with a known id is not sent again."),
                "userID": .types("string", "number", "array").keyword("items", .types("string", "number")).described(
                    "The id of a user, or a list of ids. `userId` and `user` are accepted as well."),
                "deviceID": .types("string", "array").keyword("items", .string).described(
                    """
                    The id or token of a device, or a list of them. `deviceId`, `device`, `uuid` and `UUID` are accepted \
                    as well. Needs the master key.
                    """),
                "title": .string,
                "message": .string,
                "badge": .integer.range(0, 99_999).described("`badgeNumber` is accepted as well."),
            ]))
}
