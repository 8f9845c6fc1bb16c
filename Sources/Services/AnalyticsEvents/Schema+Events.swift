import MartletHTTP

extension Schema {
    static let eventMessage: Schema = component(
        "EventMessage",
        .object(
            [
                "type": .oneOf("track", "screen", "page", "identify", "group", "alias"),
                "messageId": .string.maxLength(512).described(
                    "Identifies the message; one that is sent again is stored only once."),
                "timestamp": .string.described(
                    "When the event happened (ISO 8601), by the client's clock; by default the time of receipt."),
                "userId": .types("string", "number").described("The user's id. Ids may have at most 512 bytes."),
                "anonymousId": .types("string", "number").described("The device's id."),
                "previousId": .types("string", "number").described(
                    "`alias` only: the id by which the user was known before."),
                "groupId": .types("string", "number").described("`group` only: the group that the user belongs to."),
                "event": .string.maxLength(255).described("`track` only: the name of the event."),
                "name": .string.maxLength(255).described("`screen` and `page` only: the name of the screen or page."),
                "category": .string.maxLength(255),
                "properties": .object,
                "traits": .object.described("`identify` and `group` only: facts about the user or the group."),
                "context": .object.described(
                    """
                    The members that are read: `app.version`, `app.build`, `os.name`, `os.version`, \
                    `device.manufacturer`, `device.model`, `locale`, `location.country`, `configVersion`, \
                    `experiments`, `consent.categoryPreferences`.
                    """),
                "sentAt": .string.described(
                    "When the message was sent, by the client's clock; read only if the message is not part of a batch."
                ),
            ]).described("A message in the format of Segment's clients. Other members are ignored."))

    static let eventBatch: Schema = component(
        "EventBatch",
        .object(
            [
                "batch": .array(of: .eventMessage).maxItems(4_000),
                "sentAt": .string.described(
                    """
                    When the batch was sent, by the client's clock. Corrects the times of its messages by the \
                    difference from the server's clock.
                    """),
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
                    """
                    The id of the message; one that is sent again changes nothing. In lists, the id of the stored \
                    event.
                    """),
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
                "timeZone": .string.described("The name of a time zone in the IANA database, such as Europe/Zurich."),
            ]).closed)

    static let savedQuestion: Schema = component(
        "SavedQuestion",
        .object(
            [
                "name": .string.readOnly,
                "kind": .oneOf("counts", "people", "sessions", "screens", "retention", "funnel").described(
                    "The call that answers the question, named as the last part of its path."),
                "days": .integer.range(1, 800).defaulting(to: 30).described(
                    "The length of the period, which ends today."),
                "parameters": .map(of: .string.length(1, 1_000)).described(
                    "Query parameters of that call other than `from`, `to`, `timeZone`, `format`, `limit` and `people`."
                ),
                "steps": .array(of: .string).items(2, 10).described("`funnel` only: the events, in order."),
                "windowSeconds": .integer.range(60, 7_776_000).described("`funnel` only."),
                "isOnOverview": .boolean.defaulting(to: false).described(
                    "Whether the dashboard shows the answer on the app's overview."),
                "created": .time.readOnly,
                "createdBy": .string.readOnly,
                "updated": .time.readOnly,
                "updatedBy": .string.readOnly,
            ], required: ["kind"]))
}
