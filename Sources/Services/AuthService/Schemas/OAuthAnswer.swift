import MartletHTTP

extension RouteAnswer {
    /// A refusal in the words of OAuth 2.0.
    static func oauthError(_ status: Int) -> RouteAnswer {
        .answer(
            status, "A refusal in the words of OAuth 2.0 (RFC 6749 §5.2, RFC 6750 §3.1).",
            .json(
                .object(
                    [
                        "error": .string,
                        "error_description": .string,
                    ], required: ["error"])))
    }
}
