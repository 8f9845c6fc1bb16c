public import MartletAPI

/// An error that is reported to the caller. Any layer may throw it; it becomes a response only at the HTTP layer.
///
/// `detail`, `field`, `rows` and `findings` are sent to the client; `cause` is only logged.
public struct ServiceError: Error {
    public var code: ErrorCode
    public var detail: String?
    public var field: String?
    public var rows: [Problem.Row]?
    public var findings: [Problem.Finding]?
    public var cause: String?
    /// The seconds after which it is worth trying again.
    public var retryAfter: Int?

    public init(
        _ code: ErrorCode, _ detail: String? = nil, field: String? = nil, rows: [Problem.Row]? = nil,
        findings: [Problem.Finding]? = nil, cause: String? = nil, retryAfter: Int? = nil
    ) {
        self.code = code
        self.detail = detail
        self.field = field
        self.rows = rows
        self.findings = findings
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// The same error, with `field` prefixed by the name of the enclosing field.
    public func within(_ field: String) -> ServiceError {
        var problem = self
        problem.field = field + (self.field.map { ".\($0)" } ?? "")
        return problem
    }

    /// Whether the caller must change the request. False if the server failed.
    public var isCallersFault: Bool { code.status < 500 }
}
