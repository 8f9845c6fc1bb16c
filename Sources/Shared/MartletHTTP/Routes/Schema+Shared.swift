import MartletAPI

/// Schemas that several services use.
extension Schema {
    public static let timestamp: Schema = component(
        "Time", .time.examples("2026-11-21T09:57:13.412Z").described("UTC, with milliseconds."))

    public static let problem: Schema = component(
        "Problem",
        .object(
            [
                "type": .string.described("`urn:martlet:error:` and the code."),
                "title": .string,
                "status": .integer,
                "detail": .string.described("A sentence for the developer."),
                "code": .string.keyword("enum", .array(ErrorCode.all.map { .string($0.rawValue) })).described(
                    "docs/ERRORS.md lists what each means."),
                "field": .string.described("The field, parameter or path component at fault."),
                "rows": .array(
                    of: .object(
                        [
                            "row": .integer,
                            "field": .string,
                            "reason": .string,
                        ], required: ["row", "reason"])
                ).described("Where many things came together, each that is at fault."),
                "message": .string.described(
                    """
                    Under `/segment` only, for clients that read it beside `code`. As `detail`, or as `title` without \
                    one.
                    """),
                "requestId": .string,
            ], required: ["type", "title", "status", "code"]
        ).described("An error (RFC 9457)."))
}
