import MartletCore
import NIOCore

/// The span of a request that is traced. Not created for others.
final class ExchangeTrace {
    let span: TraceContext
    private let parentID: UInt64?

    private init(_ span: TraceContext, parentID: UInt64?) {
        self.span = span
        self.parentID = parentID
    }

    /// Decides whether a request is traced.
    static func start(
        _ traces: GatewayConfiguration.Traces, _ head: RequestHead, _ bytes: UnsafeRawBufferPointer,
        _ client: ClientConnection
    ) -> ExchangeTrace? {
        if traces.followsProxies, client.isTrustedProxy, let header = head.value(head.traceparent, in: bytes),
            let parent = TraceContext(traceparent: header.text)
        {
            return parent.isSampled ? ExchangeTrace(parent.child(), parentID: parent.spanID) : nil
        }
        return Double.random(in: 0..<1) < traces.share ? ExchangeTrace(TraceContext(), parentID: nil) : nil
    }

    /// - Parameter end: When the exchange ended, in nanoseconds since 1970.
    func end(of exchange: Exchange, at end: Int64, duration: TimeAmount) -> RequestSpan {
        var span = RequestSpan(
            self.span, parentID: parentID, method: "\(exchange.method.name)", route: exchange.route?.pattern,
            status: exchange.status, requestID: exchange.requestID.text, end: end, duration: duration.nanoseconds)
        if let appID = exchange.grant?.principal.appID, !appID.isEmpty {
            span.attributes["martlet.app.id"] = .text(appID)
        }
        // The copy of the service that answered. The `Host` header is the client's own text.
        span.attributes["martlet.upstream.address"] = exchange.backend.map { .text($0.name) }
        return span
    }
}
