import MartletHTTP

extension Schema {
    static let mailContent: Schema = component(
        "MailContent",
        .object(
            [
                "template": .string.described("The name of a template, instead of `subject`, `text` and `html`."),
                "subject": .string.maxLength(200),
                "text": .string,
                "html": .string,
                "variables": .map(of: .types("string", "number", "null")).keyword("maxProperties", 50),
                "language": .string.described("A language tag. Without it, the user's own language."),
                "replyTo": .string.format("email"),
                "topic": .string.pattern(#"^[a-z0-9._-]{1,64}$"#).described(
                    "The topic of the mail, from which people can unsubscribe."),
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
                "to": .string.nullable.described("The address. For a mail to a user, null until the mail is written."),
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
                "mail": .string.described("The id of the mail, or its `Message-ID`."),
                "address": .string.format("email"),
                "kind": .oneOf("hard", "soft", "complaint").described(
                    "`hard` and `complaint` put the address on the suppression list."),
                "reason": .string.described("The reason in the report. Characters after the first 500 are cut off."),
            ], required: ["kind"]
        ).described("A report about a mail that came back. Requires either `mail` or `address`."))
}
