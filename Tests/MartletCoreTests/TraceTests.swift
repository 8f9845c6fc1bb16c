import MartletCore
import Testing

@Suite struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"

    @Test(arguments: [
        ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-ff", true),
        ("cc-\(trace)-\(span)-01", true), ("cc-\(trace)-\(span)-01-more-fields", true),
    ]) func `A valid traceparent has a trace, a span and a decision`(_ text: String, _ isSampled: Bool) throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(TraceContext.hexadecimal(context.traceID) == Self.trace)
        #expect(TraceContext.hexadecimal(context.spanID) == Self.span)
        #expect(context.isSampled == isSampled)
        #expect(context.traceparent == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
    }

    @Test(arguments: [
        "", "00", "----", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-",
        "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01",
        "00-\(trace.uppercased())-\(span)-01", "00-\(String(repeating: "0", count: 32))-\(span)-01",
        "00-\(trace)-0000000000000000-01", "00-\(trace)0-\(span)-01", "00-+af7651916cd43dd8448eb211c80319c-\(span)-01",
        "00-\(trace)-\(span)-0g", "00-\(trace)-\(span)-01, 00-\(trace)-\(span)-01", " 00-\(trace)-\(span)-01",
    ]) func `An invalid traceparent is refused`(_ text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test func `A child has the trace of its parent, an id of its own, and leading zeros in its text`() throws {
        let parent = try #require(TraceContext(traceparent: "00-\(String(repeating: "0", count: 31))1-\(Self.span)-01"))
        let child = parent.child()
        #expect(child.traceID == 1 && child.spanID != parent.spanID && child.isSampled)
        #expect(TraceContext(traceparent: child.traceparent) == child)
        #expect(TraceContext().traceID != TraceContext().traceID)
    }

    @Test func `A full queue drops new spans and counts them, and gives up its spans in batches`() throws {
        let queue = SpanQueue()
        for number in 0..<SpanQueue.maximumCount + 3 { queue.append(Self.makeSpan(status: number)) }
        #expect(queue.takeDroppedCount() == 3 && queue.takeDroppedCount() == 0)
        let first = try #require(queue.takeBatch())
        #expect(first.count == SpanQueue.maximumBatchCount && first[0].attributes["http.response.status_code"] == nil)
        for _ in 0..<2 { queue.append(Self.makeSpan(status: 200)) }
        queue.putBack(first)
        #expect(queue.takeDroppedCount() == 2)
        var counts: [Int] = []
        while let batch = queue.takeBatch() { counts.append(batch.count) }
        #expect(counts == Array(repeating: SpanQueue.maximumBatchCount, count: 4))
    }

    @Test(
        arguments: [(200, nil), (404, nil), (499, nil), (500, "500"), (503, "503"), (0, "_OTHER")] as [(Int, String?)])
    func `A span is an error if the server is to blame`(_ status: Int, _ error: String?) {
        let span = Self.makeSpan(status: status)
        let type = error.map { RequestSpan.Value.text($0) }
        let sent: RequestSpan.Value? = status == 0 ? nil : .number(status)
        #expect(span.isError == (error != nil) && span.attributes["error.type"] == type)
        #expect(span.attributes["http.response.status_code"] == sent)
    }

    @Test func `A method that a client invented is not in the span`() {
        let span = Self.makeSpan(method: "SECRET", route: nil)
        #expect(span.name == "HTTP")
        #expect(span.attributes["http.request.method"] == RequestSpan.Value.text("_OTHER"))
        #expect(Self.makeSpan(method: "GET", route: "/a/{b}").name == "GET /a/{b}")
    }

    private static func makeSpan(method: String = "GET", route: String? = "/", status: Int = 200) -> RequestSpan {
        RequestSpan(
            TraceContext(), parentID: nil, method: method, route: route, status: status, requestID: "r", end: 2_000,
            duration: 500)
    }
}
