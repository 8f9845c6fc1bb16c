import Foundation
public import HTTPTypes
public import Hummingbird
public import MartletAPI

/// An error for the client, thrown by endpoints and middleware.
///
/// `detail`, `field`, `rows` and `findings` are sent to the client; `cause` is only logged.
public struct HTTPProblem: Error {
    public var code: ErrorCode
    public var detail: String?
    public var field: String?
    public var rows: [Problem.Row]?
    public var findings: [Problem.Finding]?
    public var cause: String?
    public var headers: HTTPFields

    public init(
        _ code: ErrorCode, _ detail: String? = nil, field: String? = nil, rows: [Problem.Row]? = nil,
        findings: [Problem.Finding]? = nil, cause: String? = nil, headers: HTTPFields = [:]
    ) {
        self.code = code
        self.detail = detail
        self.field = field
        self.rows = rows
        self.findings = findings
        self.cause = cause
        self.headers = headers
    }

    /// The answer as `application/problem+json`.
    ///
    /// - Parameter hasMessage: Adds `message`, for clients of protocols that read it (`Problem.message`).
    public func response(requestID: String?, hasMessage: Bool = false) -> Response {
        var problem = Problem(code, detail: detail, field: field, rows: rows, findings: findings, requestId: requestID)
        if hasMessage { problem.message = problem.detail ?? problem.title }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = (try? encoder.encode(problem)) ?? Data()
        var headers = headers
        headers[.contentType] = Problem.contentType
        if code == .unavailable || code == .tooManyRequests, headers[.retryAfter] == nil { headers[.retryAfter] = "1" }
        return Response(
            status: .init(code: code.status), headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}
