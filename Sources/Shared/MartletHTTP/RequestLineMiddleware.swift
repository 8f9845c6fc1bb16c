import CoreMetrics
import Foundation
import HTTPTypes
public import Hummingbird
import Logging
import MartletAPI
import MartletCore
import Synchronization

/// The outermost middleware: assigns the request id, converts every error to a problem answer, counts, measures and
/// logs one line.
public struct RequestLineMiddleware: RouterMiddleware {
    public typealias Context = ServiceContext

    private static let requestIDField = HTTPField.Name(HeaderName.requestID)!
    private let metrics = RequestMetrics()

    public init() {}

    public func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let usage = RequestUsage()
        var context = context
        context.requestID = request.headers[Self.requestIDField] ?? ""
        let (response, cause) = await RequestUsage.$current.withValue(usage) { [context] in
            await Self.answer(request, context, next)
        }
        let duration = ContinuousClock.now - start
        metrics.count(method: request.method, status: response.status.code, duration: duration)
        log(request, context, response, cause, duration, usage)
        return response
    }

    private static func answer(
        _ request: Request, _ context: ServiceContext, _ next: (Request, ServiceContext) async throws -> Response
    ) async -> (Response, String?) {
        do {
            return (try await next(request, context), nil)
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
