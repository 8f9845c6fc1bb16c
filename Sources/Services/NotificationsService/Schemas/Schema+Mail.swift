import MartletHTTP

extension Schema {
    static let mailContent: Schema = component(
        "MailContent",
        .object(
            [
                "template": .string.described("One of the app's, instead of subject, text and html."),
                "subject": .string.maxLength(200),
                "text": .string,
                "html": .string,
                "variables": .map(of: .types("string", "number", "null")).keyword("maxProperties", 50),
                "language": .string.described("The user's own, where it is not said."),
                "replyTo": .string.format("email"),
                "topic": .string.pattern(#"^[a-z0-9._-]{1,64}$"#).described("What people can unsubscribe from."),
            ]))

    static let mailOrder: Schema = component(
        "MailOrder",
        .all(
            .mailContent,
            .object(
                [
                    "to": .array(of: .string.format("email")).maxItems(50),
                    "users": .array(of: .uuid).maxItems(50),
                ])))

    static let mail: Schema = component(
        "Mail",
        .object(
            [
                "id": .uuid,
                "to": .string.nullable.described("Of a user from when the mail is written."),
                "user": .string.nullable,
                "topic": .string.nullable,
                "template": .string.nullable,
                "state": .oneOf("queued", "sent", "failed", "skipped", "suppressed"),
                "reason": .string.nullable,
                "bounce": .oneOf("hard", "soft", "complaint").nullable,
                "bounceReason": .string.nullable,
                "bounced": .time.nullable,
                "attempts": .integer,
                "author": .string,
                "created": .time,
                "finished": .time.nullable,
            ]))

    static let mailBounce: Schema = component(
        "MailBounce",
        .object(
            [
                "mail": .string.described("The mail's id, or its `Message-ID`."),
                "address": .string.format("email"),
                "kind": .oneOf("hard", "soft", "complaint").described(
                    "`hard` and `complaint` put the address on the list of those that are written to no more."),
                "reason": .string.described("Kept up to 500 characters."),
            ], required: ["kind"]
        ).described("Either a mail or an address."))
}
