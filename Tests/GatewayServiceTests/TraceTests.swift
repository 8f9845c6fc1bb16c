import GatewayService
import MartletCore
import NIOHTTP1
import Testing

/// Which requests the gateway traces, and what a span says.
@Suite struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"
    private static let header = "traceparent: 00-\(trace)-\(span)-01"

    @Test func `A client's own trace is ignored, and a span has the route but not the path`() async throws {
        let spans = SpanQueue()
        try await withGateway(configure: {
            $0.traces = GatewayConfiguration.Traces(spans: spans, share: 1)
            // Trusted for addresses, not for traces.
            $0.trustedProxies = ["127.0.0.1"]
        }) { test in
            let client = try await test.ask("Notes?q=secret", [Self.header, "tracestate: a=b", "X-Request-Id: r-1"])
            #expect(client.status == 200, "\(client.text)")
            let span = try await Self.nextSpan(spans)
            let headers = try #require(test.upstream.arrivals.first?.head.headers)
            #expect(headers["traceparent"] == [span.context.traceparent] && headers["tracestate"].isEmpty)
            #expect(TraceContext.hexadecimal(span.context.traceID) != Self.trace && span.parentID == nil)
            #expect(span.name == "GET /api/{appKey}/storage/**" && span.end > span.start && !span.isError)
            let attributes: [String: RequestSpan.Value] = [
                "http.request.method": .text("GET"), "http.route": .text("/api/{appKey}/storage/**"),
                "http.response.status_code": .number(200), "martlet.app.id": .text("alpha"),
                "martlet.request.id": .text("r-1"), "martlet.upstream.address": .text(test.upstream.address),
            ]
            #expect(span.attributes == attributes)

            let request = "GET /secret HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n"
            #expect(try await test.exchange(request).status == 404)
            let refused = try await Self.nextSpan(spans)
            #expect(refused.name == "GET" && refused.attributes["http.route"] == nil)
            #expect(refused.attributes["http.response.status_code"] == RequestSpan.Value.number(404))
        }
    }

    @Test func `A proxy that may do so continues its trace, and decides whether a request is traced`() async throws {
        let spans = SpanQueue()
        try await withGateway(configure: {
            $0.traces = GatewayConfiguration.Traces(spans: spans, share: 0, followsProxies: true)
            $0.trustedProxies = ["127.0.0.1"]
        }) { test in
            for headers in [
                [], ["traceparent: 00-\(Self.trace)-\(Self.span)-00"], ["traceparent: nonsense"],
                [Self.header, Self.header],
            ] {
                #expect(try await test.ask("Notes", headers).status == 200)
            }
            #expect(test.upstream.arrivals.allSatisfy { !$0.head.headers.contains(name: "traceparent") })
            #expect(try await test.ask("Notes", [Self.header]).status == 200)
            let span = try await Self.nextSpan(spans)
            #expect(TraceContext.hexadecimal(span.context.traceID) == Self.trace)
            #expect(span.parentID.map { TraceContext.hexadecimal($0) } == Self.span)
            #expect(spans.takeBatch() == nil)
            #expect(test.upstream.arrivals.last?.head.headers["traceparent"] == [span.context.traceparent])
        }
    }

    @Test func `A client that is not a trusted proxy cannot have its requests traced`() async throws {
        let spans = SpanQueue()
        try await withGateway(configure: {
            $0.traces = GatewayConfiguration.Traces(spans: spans, share: 0, followsProxies: true)
        }) { test async throws in
            #expect(try await test.ask("Notes", [Self.header]).status == 200)
            #expect(test.upstream.arrivals.first?.head.headers.contains(name: "traceparent") == false)
        }
        #expect(spans.takeBatch() == nil)
    }

    /// The span of the next request to end. The client may have the answer before.
    private static func nextSpan(_ queue: SpanQueue) async throws -> RequestSpan {
        var batch: [RequestSpan] = []
        await eventually {
            batch = queue.takeBatch() ?? []
            return !batch.isEmpty
        }
        #expect(batch.count == 1)
        return try #require(batch.first)
    }
}
