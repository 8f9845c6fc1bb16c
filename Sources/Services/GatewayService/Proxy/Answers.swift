import Foundation
import MartletAPI

/// An answer the gateway gives itself.
struct Answer {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// Of 304 it would have to be that of the representation (RFC 9110 §8.6).
    var hasLength: Bool { status != 204 && status != 304 }
}

/// Problem answers, encoded once per kind; only the request id differs.
///
/// Confined to one event loop.
final class Answers {
    private var templates: [Key: (start: [UInt8], end: [UInt8])] = [:]

    private struct Key: Hashable {
        var code: ErrorCode
        var detail: UnsafePointer<UInt8>?
        var hasMessage: Bool
    }

    func problem(_ refusal: Refusal, _ id: RequestID, hasMessage: Bool = false) -> Answer {
        let template = template(refusal, hasMessage: hasMessage)
        var answer = Answer(status: refusal.code.status, body: template.start + Array(id.text.utf8) + template.end)
        answer.headers.append(("content-type", Problem.contentType))
        if let seconds = refusal.retryAfter { answer.headers.append(("retry-after", "\(seconds)")) }
        if let allow = refusal.allow { answer.headers.append(("allow", allow)) }
        if refusal.code == .unauthorized { answer.headers.append(("www-authenticate", "Martlet")) }
        return answer
    }

    private func template(_ refusal: Refusal, hasMessage: Bool) -> (start: [UInt8], end: [UInt8]) {
        let key = Key(code: refusal.code, detail: refusal.detail?.utf8Start, hasMessage: hasMessage)
        if let known = templates[key] { return known }
        let mark = "{requestId}"
        var problem = Problem(refusal.code, detail: refusal.detail.map { "\($0)" }, requestId: mark)
        if hasMessage { problem.message = problem.detail ?? problem.title }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = (try? encoder.encode(problem)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        let parts = text.split(separator: mark, maxSplits: 1)
        let template = (Array((parts.first ?? "").utf8), Array((parts.count > 1 ? parts[1] : "").utf8))
        templates[key] = template
        return template
    }
}

/// Reason phrases of the statuses the gateway itself answers with (RFC 9110 §15).
func reasonPhrase(_ status: Int) -> StaticString {
    switch status {
    case 204: "No Content"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 417: "Expectation Failed"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Unknown"
    }
}
