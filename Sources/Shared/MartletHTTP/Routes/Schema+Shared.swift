import MartletAPI

/// Schemas that several services use.
extension Schema {
    public static let timestamp: Schema = component(
        "Time", .time.examples("2026-11-21T09:57:13.412Z").described("A time in UTC, with milliseconds."))

    public static let problem: Schema = component(
        "Problem",
        .object(
            [
                "type": .string.described("`urn:martlet:error:`, followed by the code."),
                "title": .string,
                "status": .integer,
                "detail": .string.described("What was wrong with this request, in a sentence for developers."),
                "code": .oneOf(ErrorCode.all.map(\.rawValue)).described(
                    "The error code. docs/ERRORS.md explains each code."),
                "field": .string.described("The field, parameter or path component that caused the error."),
                "rows": .array(
                    of: .object(
                        [
                            "row": .integer,
                            "field": .string,
                            "reason": .string,
                        ], required: ["row", "reason"])
                ).described("If the request contained several items, those that caused the error."),
                "message": .string.described(
                    """
                    The same as `detail`, or as `title` if there is no `detail`. Only under `/segment`, for clients \
                    that read this member.
                    """),
                "requestId": .string,
            ], required: ["type", "title", "status", "code"]
        ).described("An error (RFC 9457)."))
}
