import MartletHTTP

extension Schema {
    static let messageDelivery: Schema = component(
        "MessageDelivery",
        .object(
            [
                "installation": .uuid,
                "state": .oneOf("queued", "sending", "accepted", "failed", "unknown", "cancelled"),
                "variant": .integer.described("Which of the message's texts."),
                "attempts": .integer,
                "badge": .integer,
                "due": .time,
                "updated": .time,
                "pushId": .uuid.described("`apns-id`, the same for each attempt."),
                "receipt": .string.described("By what the push service knows it, where that is not pushId."),
                "reason": .string.described("The push service's word, or one of ours in lower case."),
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
                        One of `{collection, events}`, `{every: {minutes}}`, `{cron, timeZone}`, `{alert: "crash"}`.
                        """),
                "where": .object.described("A condition in the Mongo-like grammar of flags, over the facts."),
                "if": .any.described("JsonLogic over the facts."),
                "to": .array(
                    of: .object(
                        [
                            "field": .string.described("Path to users' ids, pointers to users, or a relation."),
                            "of": .object(
                                [
                                    "collection": .string,
                                    "id": .string.described("Path to the ids of the objects that have the field."),
                                ]),
                            "user": .string,
                            "channel": .string,
                            "installation": .uuid,
                            "audience": .object.described("As messages have it, alone."),
                        ])
                ).maxItems(20),
                "except": .array(of: .string).described("Paths to users who are left out, such as `actor`."),
                "template": .string,
                "variables": .map(of: .string).described(
                    "What the template's places are filled with: texts with places of their own."),
                "content": .object.described(
                    "Instead of a template: a message's content with places such as `{{object.title}}`."),
                "mail": .object(
                    [
                        "template": .string.described("One of mail."),
                        "users": .array(of: .object).maxItems(20).described(
                            "Sources as in `to` that name users; without it the users of `to`."),
                        "variables": .map(of: .string).described("Texts with places."),
                        "topic": .string.pattern(#"^[a-z0-9._-]{1,64}$"#).described(
                            "What people can unsubscribe from."),
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
                    "`stuck`: what it waits for cannot be acted on, and is tried again."),
                "since": .time.readOnly.described("When it is stuck."),
                "reason": .string.readOnly,
                "secret": .string.readOnly.described("Of a new webhook, shown this once."),
            ], required: ["when"]))

    static let pushAddress: Schema = component(
        "PushAddress",
        .object(
            [
                "service": .oneOf("apns", "fcm", "webpush"),
                "token": .string.maxLength(4_096),
                "sandbox": .boolean.described("The app was signed for development (`aps-environment`)."),
                "bundleId": .string.described("Where the credential is for several; else its first."),
                "subscription": .object(
                    [
                        "endpoint": .string.maxLength(1_000),
                        "expirationTime": .number.nullable,
                        "keys": .object(
                            [
                                "p256dh": .string,
                                "auth": .string,
                            ]),
                    ]).described("`PushSubscription.toJSON()` of a browser."),
            ], required: ["service"]
        ).described(
            """
            By which push service a device is reached. `token` for apns and fcm, `subscription` for webpush; \
            `sandbox` is required for apns.
            """))

    static let installationFields: Schema = component(
        "InstallationFields",
        .object(
            [
                "platform": .oneOf("ios", "macos", "watchos", "tvos", "visionos", "android", "web").described(
                    "Required with PUT."),
                "push": .exactlyOne(
                    .pushAddress,
                    .null),
                "appVersion": .string.maxLength(100).nullable,
                "osVersion": .string.maxLength(100).nullable,
                "deviceModel": .string.maxLength(100).nullable,
                "locale": .string.nullable.described("BCP 47."),
                "timeZone": .string.nullable.described("IANA: `Europe/Berlin`."),
                "channels": .array(of: .string.pattern(#"^[A-Za-z0-9._:-]{1,64}$"#)).maxItems(100),
                "attributes": .object.described("4 KiB at the most."),
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
                            "token": .string.described("Its beginning."),
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
                "serviceAccount": .any.described("The JSON of Google's file, or its text."),
                "subject": .string.described("`mailto:` or `https:`."),
                "privateKey": .string.described("base64url of 32 bytes, or PEM; without it one is made."),
            ]).described(
                """
                apns: `key` (the text of the .p8 file), `keyId`, `teamId`, `bundleIds`, perhaps `sandbox`; fcm: \
                `serviceAccount`; webpush: `subject`, perhaps `privateKey`.
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
                ).described("Since when nothing is sent with it but a message now and then, to see, and why."),
            ]))

    static let pushOutcome: Schema = component(
        "PushOutcome",
        .object(
            [
                "outcome": .oneOf("accepted", "failed"),
                "id": .string.described("What the push service calls the message."),
                "uniqueId": .string.described("`apns-unique-id`, of the sandbox only."),
                "meaning": .oneOf("notSent", "unknown", "deviceGone", "messageRejected", "backOff", "credentialBroken"),
                "reason": .string.described("The push service's word."),
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
                "ttl": .integer.range(0, 2_419_200).described("Seconds."),
                "atMostOnce": .boolean,
            ]).described(
                """
                What devices get. In templates each text may have `{{name}}` and `{{#name}}…{{/name}}` in it.
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
                "where": .object.described("A condition as flags have it, over installations."),
                "except": .object(
                    [
                        "users": .array(of: .string).maxItems(1_000)
                    ]),
            ]).described("Installations for which all of it holds."))

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
                                "Names, or with `*` at the end what names begin with."),
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
            Devices by push services that the app has no credential for; missing where there are none.
            """))

    static let tbAnalyticsNotification: Schema = component(
        "TBAnalyticsNotification",
        .object(
            [
                "_id": .string.maxLength(64).described("What came with it before is not sent again."),
                "userID": .types("string", "number", "array").keyword("items", .types("string", "number")).described(
                    "Id of a user, or a list; also userId, user."),
                "deviceID": .types("string", "array").keyword("items", .string).described(
                    "Id or token of a device, or a list; also deviceId, device, uuid, UUID. Master key only."),
                "title": .string,
                "message": .string,
                "badge": .integer.range(0, 99_999).described("Also badgeNumber."),
            ]))
}
