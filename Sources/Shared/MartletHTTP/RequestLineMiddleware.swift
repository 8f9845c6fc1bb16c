import CoreMetrics
import Foundation
import HTTPTypes
public import Hummingbird
import Logging
import MartletAPI
public import MartletCore
import Synchronization

/// The outermost middleware: assigns the request id, converts every error to a problem answer, counts, measures and
/// logs one line. Makes a span for a request that the gateway, or the calling service, has chosen to trace.
public struct RequestLineMiddleware: RouterMiddleware {
    public typealias Context = ServiceContext

    private static let requestIDField = HTTPField.Name(HeaderName.requestID)!
    private static let traceparentField = HTTPField.Name(TraceContext.headerName)!
    private static let waitedField = HTTPField.Name(HeaderName.waited)!
    private let metrics = RequestMetrics()
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
        context.requestID = request.headers[Self.requestIDField] ?? ""
        let trace = spans == nil ? nil : Trace(request.headers[Self.traceparentField])
        let (answer, cause) = await RequestUsage.$current.withValue(usage) { [context] in
            await Self.answer(request, context, trace, next)
        }
        var response = answer
        let waited = usage.waitedTimeInNanoseconds / 1_000
        if waited > 0 { response.headers[Self.waitedField] = String(waited) }
        let duration = ContinuousClock.now - start
        metrics.count(method: request.method, status: response.status.code, duration: duration)
        log(request, context, response, cause, duration, usage)
        if let trace { spans?.append(trace.end(request, context, response, duration, usage)) }
        return response
    }

    private static func answer(
        _ request: Request, _ context: ServiceContext, _ trace: Trace?,
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

    private static func problem(for error: any Error) -> ServiceError {
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

    private func log(
        _ request: Request, _ context: ServiceContext, _ response: Response, _ cause: String?, _ duration: Duration,
        _ usage: RequestUsage
    ) {
        let level: Logger.Level = response.status.code >= 500 ? .error : .info
        guard context.logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "request.id": .string(context.requestID),
            "http.method": .string(request.method.rawValue),
            "http.route": .string(context.endpointPath ?? "-"),
            "http.status": .stringConvertible(response.status.code),
            "duration.us": .stringConvertible(duration.microseconds),
        ]
        if usage.queries > 0 {
            metadata["db.queries"] = .stringConvertible(usage.queries)
            metadata["db.us"] = .stringConvertible(usage.databaseTimeInNanoseconds / 1000)
        }
        if let cause { metadata["error.cause"] = .string(cause) }
        context.logger.log(level: level, "request", metadata: metadata)
    }
}

/// The span of a request that is traced.
private struct Trace {
    private let parentID: UInt64
    private let span: TraceContext
    let active: ActiveSpan

    /// - Parameter traceparent: The caller's header.
    /// - Returns: Nil unless the caller traces the request. A service starts no traces of its own.
    init?(_ traceparent: String?) {
        guard let traceparent, let parent = TraceContext(traceparent: traceparent), parent.isSampled else {
            return nil
        }
        parentID = parent.spanID
        span = parent.child()
        active = ActiveSpan(span)
    }

    func end(
        _ request: Request, _ context: ServiceContext, _ response: Response, _ duration: Duration,
        _ usage: RequestUsage
    ) -> RequestSpan {
        active.end()
        var span = RequestSpan(
            self.span, parentID: parentID, method: request.method.rawValue, route: context.endpointPath,
            status: response.status.code, requestID: context.requestID,
            end: Int64(Date().timeIntervalSince1970 * 1e9), duration: duration.microseconds * 1_000)
        if usage.queries > 0 {
            span.attributes["martlet.db.queries"] = .number(usage.queries)
            span.attributes["martlet.db.us"] = .number(usage.databaseTimeInNanoseconds / 1_000)
        }
        return span
    }
}

/// Caches metric handlers by method and status, to avoid going through the factory each time.
private final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        var method: String
        var status: Int
    }

    private let timer = Timer(label: "martlet.http.request.duration")
    private let counters = Mutex<[Key: Counter]>([:])

    func count(method: HTTPRequest.Method, status: Int, duration: Duration) {
        let key = Key(method: Self.known(method), status: status)
        let counter = counters.withLock { counters in
            if let counter = counters[key] { return counter }
            let dimensions = [("method", key.method), ("status", String(status))]
            let counter = Counter(label: "martlet.http.requests", dimensions: dimensions)
            counters[key] = counter
            return counter
        }
        counter.increment()
        timer.recordNanoseconds(duration.microseconds * 1000)
    }

    /// Clients may invent methods, and a series for each would grow without bound.
    private static func known(_ method: HTTPRequest.Method) -> String {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options: method.rawValue
        default: "other"
        }
    }
}

extension Duration {
    /// Whole microseconds, for log lines and metrics.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}

extension ServiceError {
    fileprivate func caused(by cause: String?) -> ServiceError {
        var problem = self
        problem.cause = cause
        return problem
    }
}
