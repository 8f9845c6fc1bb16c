import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import NIOCore

/// Answers requests to direct endpoints, with the headers, log lines and metrics of the usual way.
final class DirectResponder: Sendable {
    /// Larger bodies and queries take too long on an event loop.
    static let maximumSizeInBytes = 4 << 10
    private static let principalField = HTTPField.Name(HeaderName.principal)!

    private let routes: DirectRoutes
    private let principals: PrincipalVerifier
    private let recorder = RequestRecorder()
    private let compression: CompressionMiddleware?
    private let tracesRequests: Bool
    private let logger: Logger

    /// Nil if the service has no direct endpoint.
    init?(_ definition: some ServiceDefinition, signer: PrincipalSigner, spans: SpanQueue?, logger: Logger) {
        routes = DirectRoutes(definition.routes)
        guard !routes.isEmpty else { return nil }
        principals = PrincipalVerifier(signer: signer)
        compression = definition.compressesAnswers ? CompressionMiddleware() : nil
        tracesRequests = spans != nil
        self.logger = logger
    }

    /// The endpoint that may answer a request, if its whole body arrives; nil if the router has to answer it.
    func match(_ head: HTTPRequest) -> DirectRoutes.Match? {
        guard let target = head.path, target.utf8.count <= Self.maximumSizeInBytes,
            let match = routes.match(head.method, target)
        else { return nil }
        let fields = head.headerFields
        let others: [HTTPField.Name] = [.connection, .expect, .transferEncoding, .contentEncoding]
        guard !others.contains(where: fields.contains),
            fields[.contentLength].map({ Int($0).map { $0 <= Self.maximumSizeInBytes } ?? false }) ?? true
        else { return nil }
        return match
    }

    /// Starts to answer a request.
    ///
    /// - Parameter write: Called once, on the event loop, unless the function returns false. Nil leaves the request to
    ///   the router.
    /// - Returns: Whether it was started. If not, the router answers.
    func start(
        _ match: DirectRoutes.Match, _ head: HTTPRequest, _ body: ByteBuffer, on eventLoop: any EventLoop,
        write: @escaping @Sendable (DirectAnswer?) -> Void
    ) -> Bool {
        let start = ContinuousClock.now
        guard let header = head.headerFields[Self.principalField],
            let principal = principals.principal(from: header, at: Date()),
            principal.kind == .client || principal.kind == .master,
            !tracesRequests || RequestTrace(head.headerFields) == nil,
            body.readableBytes == 0 || match.entry.route.acceptsBody
        else { return false }
        let request = FormQueryMiddleware.decoded(Request(head: head, body: RequestBody(buffer: ByteBuffer())))
        guard (try? match.entry.query.check(request)) != nil else { return false }
        let direct = DirectRequest(request: request, body: body, principal: principal, parameters: match.parameters)
        let requestID = RequestRecorder.requestID(head.headerFields)
        let finish: @Sendable (DirectAnswer, String?) -> Void = { [self] answer, cause in
            eventLoop.execute { [self] in
                write(answer)
                recorder.record(
                    FinishedRequest(
                        method: head.method, route: match.entry.route.path, requestID: requestID,
                        status: answer.status, cause: cause, duration: ContinuousClock.now - start,
                        usage: direct.usage),
                    logger)
            }
        }
        return match.entry.endpoint.start(direct) { [self] result in
            switch result {
            // Large answers count against a budget, for which the usual way waits.
            case .success(let answer?) where answer.body.readableBytes <= RequestMemory.smallSizeInBytes:
                compress(answer, for: request) { finish($0, nil) }
            case .success: eventLoop.execute { write(nil) }
            case .failure(let error):
                let problem = RequestLineMiddleware.problem(for: error)
                finish(problem.answer(requestID: requestID), problem.cause)
            }
        }
    }

    /// Compresses an answer if it is worth it, in a task.
    private func compress(
        _ answer: DirectAnswer, for request: Request, _ completion: @escaping @Sendable (DirectAnswer) -> Void
    ) {
        guard let compression,
            answer.status == .notModified || CompressionMiddleware.sizesInBytes.contains(answer.body.readableBytes)
        else { return completion(answer) }
        var response = Response(answer)
        guard let coding = compression.coding(for: &response, to: request) else {
            return completion(DirectAnswer(status: response.status, headers: response.headers, body: answer.body))
        }
        Task { [response] in
            guard let compressed = try? await compression.compressed(response, coding),
                let body = try? await compressed.wholeBody()
            else { return completion(answer) }
            completion(DirectAnswer(status: compressed.status, headers: compressed.headers, body: body))
        }
    }
}
