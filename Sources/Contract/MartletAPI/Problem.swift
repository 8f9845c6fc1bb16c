/// An error answer: `application/problem+json` (RFC 9457) with a registered `code`.
///
/// `{"type":"urn:martlet:error:<code>","title":…,"status":…,"detail":…,"code":…,"field":…,"requestId":…}`;
/// `detail`, `field` and `requestId` may be absent.
public struct Problem: Codable, Sendable, Equatable {
    public static let contentType = "application/problem+json"

    public var type: String
    public var title: String
    public var status: Int
    /// A sentence for the developer who sent the request; carries no secret and no cause inside the server.
    public var detail: String?
    public var code: String
    /// The field, parameter or path component that is at fault.
    public var field: String?
    public var requestId: String?

    public init(_ code: ErrorCode, detail: String? = nil, field: String? = nil, requestId: String? = nil) {
        self.type = "urn:martlet:error:" + code.rawValue
        self.title = code.title
        self.status = code.status
        self.detail = detail
        self.code = code.rawValue
        self.field = field
        self.requestId = requestId
    }
}
