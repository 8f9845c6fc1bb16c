import MartletHTTP

extension Schema {
    static let eventMessage: Schema = component(
        "EventMessage",
        .object(
            [
                "type": .oneOf("track", "screen", "page", "identify", "group", "alias"),
                "messageId": .string.maxLength(512).described("By which a message that comes twice is stored once."),
                "timestamp": .string.described("ISO 8601, by the client's clock; without: now."),
                "userId": .types("string", "number").described("Whose it is; 512 bytes at most, as of the other ids."),
                "anonymousId": .types("string", "number").described("On whose device it happened."),
                "previousId": .types("string", "number").described("Of `alias`."),
                "groupId": .types("string", "number").described("Of `group`."),
                "event": .string.maxLength(255).described("Of `track`."),
                "name": .string.maxLength(255).described("Of `screen` and `page`."),
                "category": .string.maxLength(255),
                "properties": .object,
                "traits": .object.described("Of `identify` and `group`."),
                "context": .object.described(
                    """
                    `app.version`, `app.build`, `os.name`, `os.version`, `device.manufacturer`, `device.model`, \
                    `locale`, `location.country`, `configVersion`, `experiments`, `consent.categoryPreferences`
                    """),
                "sentAt": .string.described("Of a message that comes alone: when it is sent, by the client's clock."),
            ]).described("A message as Segment's clients send it. What is not listed is not read."))

    static let eventBatch: Schema = component(
        "EventBatch",
        .object(
            [
                "batch": .array(of: .eventMessage).maxItems(4_000),
                "sentAt": .string.described("When it is sent, by the client's clock, which is set right by it."),
            ], required: ["batch"]))

    static let takenEvents: Schema = component(
        "TakenEvents",
        .object(
            [
                "success": .boolean.keyword("const", true),
                "accepted": .integer,
                "rejected": .array(
                    of: .object(
                        [
                            "index": .integer,
                            "field": .string,
                            "reason": .string,
                        ], required: ["index", "reason"])),
            ], required: ["success", "accepted"]))

    static let optOut: Schema = component(
        "OptOut",
        .object(
            [
                "isOptedOut": .boolean,
                "since": .time,
            ], required: ["isOptedOut"]))

    static let tbAnalyticsEvent: Schema = component(
        "TBAnalyticsEvent",
        .object(
            [
                "_id": .string.described(
                    "The message's id; one that came before changes nothing. In lists the event's own."),
                "created": .time.readOnly,
                "updated": .time.readOnly,
                "deleted": .null.readOnly,
                "_version": .integer.readOnly,
                "type": .string.defaulting(to: "Generic"),
                "timeStamp": .string,
                "className": .string,
                "fileName": .string,
                "method": .string,
                "configVersion": .string,
                "tags": .object,
            ]))

    static let analyticsSettings: Schema = component(
        "AnalyticsSettings",
        .object(
            [
                "retentionDays": .integer.range(1, 3_650),
                "privacy": .oneOf("standard", "strict"),
                "isCollecting": .boolean,
                "timeZone": .string.described("As the IANA names it, such as Europe/Zurich."),
            ]).closed)

    static let sentryError: Schema = component(
        "SentryError",
        .object(
            [
                "detail": .string,
                "causes": .array(of: .string),
            ], required: ["detail", "causes"]))
}
