import MartletHTTP

extension RouteAnswer {
    /// An OAuth 2.0 error response.
    static func oauthError(_ status: Int) -> RouteAnswer {
        .answer(
            status, "An OAuth 2.0 error response (RFC 6749 §5.2, RFC 6750 §3.1).",
            .json(
                .object(
                    [
                        "error": .string,
                        "error_description": .string,
                    ], required: ["error"])))
    }
}
