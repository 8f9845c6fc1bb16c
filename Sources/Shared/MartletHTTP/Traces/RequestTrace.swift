import Foundation
import HTTPTypes
import MartletCore

/// The span of a request that is traced.
struct RequestTrace {
    private static let traceparentField = HTTPField.Name(TraceContext.headerName)!

    private let parentID: UInt64
    private let span: TraceContext
    let active: ActiveSpan

    /// - Returns: Nil unless the caller traces the request. A service starts no traces of its own.
    init?(_ headers: HTTPFields) {
        guard let traceparent = headers[Self.traceparentField], let parent = TraceContext(traceparent: traceparent),
            parent.isSampled
        else { return nil }
        parentID = parent.spanID
        span = parent.child()
        active = ActiveSpan(span)
    }

    func end(_ request: FinishedRequest) -> RequestSpan {
        active.end()
        var span = RequestSpan(
            self.span, parentID: parentID, method: request.method.rawValue, route: request.route,
            status: request.status.code, requestID: request.requestID,
            end: Int64(Date().timeIntervalSince1970 * 1e9), duration: request.duration.microseconds * 1_000)
        if request.usage.queries > 0 {
            span.attributes["martlet.db.queries"] = .number(request.usage.queries)
            span.attributes["martlet.db.us"] = .number(request.usage.databaseTimeInNanoseconds / 1_000)
        }
        return span
    }
}
