import MartletAPI

/// A refused request and the response for the client.
struct Refusal: Error {
    var code: ErrorCode
    /// A sentence for the developer. It never contains input from the client.
    var detail: StaticString?
    /// Seconds for `Retry-After`.
    var retryAfter: Int?
    /// Methods for `Allow`.
    var allow: String?

    init(_ code: ErrorCode, _ detail: StaticString? = nil, retryAfter: Int? = nil, allow: String? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
        self.allow = allow
    }

    static func malformed(_ detail: StaticString) -> Refusal { Refusal(.malformedRequest, detail) }
}
