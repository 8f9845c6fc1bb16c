import Foundation
public import Hummingbird
import MartletAPI
public import MartletCore

extension ServiceError {
    /// The answer as `application/problem+json`.
    ///
    /// - Parameter hasMessage: Adds `message`, for clients of protocols that read it (`Problem.message`).
    public func response(requestID: String?, hasMessage: Bool = false) -> Response {
        let answer = answer(requestID: requestID, hasMessage: hasMessage)
        return Response(status: answer.status, headers: answer.headers, body: .init(byteBuffer: answer.body))
    }

    func answer(requestID: String?, hasMessage: Bool = false) -> DirectAnswer {
        var problem = Problem(code, detail: detail, field: field, rows: rows, findings: findings, requestId: requestID)
        if hasMessage { problem.message = problem.detail ?? problem.title }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = (try? encoder.encode(problem)) ?? Data()
        return DirectAnswer(status: .init(code: code.status), headers: headers, body: ByteBuffer(bytes: body))
    }

    private var headers: HTTPFields {
        var headers: HTTPFields = [.contentType: Problem.contentType]
        if let seconds = retryAfter ?? (code == .unavailable || code == .tooManyRequests ? 1 : nil) {
            headers[.retryAfter] = String(seconds)
        }
        return headers
    }
}
