import CoreMetrics
import HTTPTypes
import Logging
import MartletAPI
import MartletCore
import Synchronization

/// A request that has been answered.
struct FinishedRequest {
    var method: HTTPRequest.Method
    /// The path of the route; nil if there is none.
    var route: String?
    var requestID: String
    var status: HTTPResponse.Status
    /// The cause of an error, for the log only.
    var cause: String?
    var duration: Duration
    var usage: RequestUsage
}

/// Counts, measures and logs requests.
struct RequestRecorder: Sendable {
    private static let requestIDField = HTTPField.Name(HeaderName.requestID)!

    private let metrics = RequestMetrics()

    /// The id that the gateway, or the calling service, has given to a request; empty if there is none.
    static func requestID(_ headers: HTTPFields) -> String { headers[requestIDField] ?? "" }

    func record(_ request: FinishedRequest, _ logger: Logger) {
        metrics.count(method: request.method, status: request.status.code, duration: request.duration)
        let level: Logger.Level = request.status.code >= 500 ? .error : .info
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "request.id": .string(request.requestID),
            "http.method": .string(request.method.rawValue),
            "http.route": .string(request.route ?? "-"),
            "http.status": .stringConvertible(request.status.code),
            "duration.us": .stringConvertible(Int(request.duration.microseconds)),
        ]
        if request.usage.queries > 0 {
            metadata["db.queries"] = .stringConvertible(request.usage.queries)
            metadata["db.us"] = .stringConvertible(request.usage.databaseTimeInNanoseconds / 1000)
        }
        if let cause = request.cause { metadata["error.cause"] = .string(cause) }
        logger.log(level: level, "request", metadata: metadata)
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
