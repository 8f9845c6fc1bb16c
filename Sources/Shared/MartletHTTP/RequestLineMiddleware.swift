import HTTPTypes
public import Hummingbird
import MartletAPI
public import MartletCore

/// The outermost middleware: assigns the request id, converts every error to a problem answer, counts, measures and
/// logs one line. Makes a span for a request that the gateway, or the calling service, has chosen to trace.
public struct RequestLineMiddleware: RouterMiddleware {
    public typealias Context = ServiceContext

    private static let waitedField = HTTPField.Name(HeaderName.waited)!
    private let recorder = RequestRecorder()
    private let spans: SpanQueue?

    /// - Parameter spans: Receives the spans; nil if no request is traced.
    public init(spans: SpanQueue? = nil) {
        self.spans = spans
    }

    public func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let usage = RequestUsage()
        var context = context
        context.requestID = RequestRecorder.requestID(request.headers)
        let trace = spans == nil ? nil : RequestTrace(request.headers)
        let (answer, cause) = await RequestUsage.$current.withValue(usage) { [context] in
            await Self.answer(request, context, trace, next)
        }
        var response = answer
        let waited = usage.waitedTimeInNanoseconds / 1_000
        if waited > 0 { response.headers[Self.waitedField] = String(waited) }
        let finished = FinishedRequest(
            method: request.method, route: context.endpointPath, requestID: context.requestID, status: response.status,
            cause: cause, duration: ContinuousClock.now - start, usage: usage)
        recorder.record(finished, context.logger)
        if let trace { spans?.append(trace.end(finished)) }
        return response
    }

    private static func answer(
        _ request: Request, _ context: ServiceContext, _ trace: RequestTrace?,
        _ next: (Request, ServiceContext) async throws -> Response
    ) async -> (Response, String?) {
        do {
            guard let trace else { return (try await next(request, context), nil) }
            let response = try await ActiveSpan.$current.withValue(trace.active) { try await next(request, context) }
            return (response, nil)
        } catch {
            let withHeaders = error as? ErrorWithHeaders
            let problem = problem(for: withHeaders?.error ?? error)
            var response = problem.response(
                requestID: context.requestID, hasMessage: request.uri.path.hasPrefix("/segment/"))
            for field in withHeaders?.headers ?? [:] { response.headers[field.name] = field.value }
            return (response, problem.cause)
        }
    }

    static func problem(for error: any Error) -> ServiceError {
        switch error {
        case let problem as ServiceError: return problem
        case let error as HTTPError: return problem(for: error.status).caused(by: error.body)
        case let error as any DependencyError: return problem(for: error.condition).caused(by: "\(error)")
        case is CancellationError: return ServiceError(.unavailable, cause: "cancelled")
        default: return ServiceError(.internalError, cause: "\(error)")
        }
    }

    /// The problem for an error of the framework itself.
    private static func problem(for status: HTTPResponse.Status) -> ServiceError {
        switch status.code {
        case 404: ServiceError(.notFound)
        case 405: ServiceError(.methodNotAllowed)
        case 413: ServiceError(.payloadTooLarge)
        case 415: ServiceError(.unsupportedMediaType)
        case 400..<500: ServiceError(.malformedRequest)
        default: ServiceError(.internalError)
        }
    }

    private static func problem(for condition: DependencyCondition) -> ServiceError {
        switch condition {
        case .unavailable, .cancelled: ServiceError(.unavailable)
        case .timeout:
            ServiceError(.unavailable, "The database took too long; the request may or may not have had an effect.")
        case .fault: ServiceError(.internalError)
        }
    }
}

extension ServiceError {
    fileprivate func caused(by cause: String?) -> ServiceError {
        var problem = self
        problem.cause = cause
        return problem
    }
}
