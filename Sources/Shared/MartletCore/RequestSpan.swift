/// One request as this process served it, for a trace collector.
///
/// Contains no path, query, address, user or credential. Attributes are named by OpenTelemetry's conventions for HTTP;
/// our own begin with `martlet.`.
public struct RequestSpan: Sendable, Equatable {
    public enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
    }

    public let context: TraceContext
    /// The id of the span of the process that sent the request; nil if the trace begins here.
    public let parentID: UInt64?
    public let name: String
    /// Nanoseconds since 1970.
    public let start: Int64
    /// Nanoseconds since 1970.
    public let end: Int64
    public let isError: Bool
    public var attributes: [String: Value]

    /// - Parameters:
    ///   - method: `_OTHER` for methods that clients invented.
    ///   - route: The route's pattern; nil if no route matched.
    ///   - status: The answer's status; 0 if the connection was closed without an answer.
    ///   - end: When the request ended, in nanoseconds since 1970.
    ///   - duration: In nanoseconds.
    public init(
        _ context: TraceContext, parentID: UInt64?, method: String, route: String?, status: Int, requestID: String,
        end: Int64, duration: Int64
    ) {
        self.context = context
        self.parentID = parentID
        let method = Self.methods.contains(method) ? method : "_OTHER"
        let title = method == "_OTHER" ? "HTTP" : method
        name = route.map { "\(title) \($0)" } ?? title
        self.end = end
        start = end - max(0, duration)
        isError = status >= 500 || status == 0
        attributes = ["http.request.method": .text(method), "martlet.request.id": .text(requestID)]
        attributes["http.route"] = route.map { .text($0) }
        attributes["http.response.status_code"] = status > 0 ? .number(status) : nil
        attributes["error.type"] = isError ? .text(status > 0 ? String(status) : "_OTHER") : nil
    }

    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
    ]
}
