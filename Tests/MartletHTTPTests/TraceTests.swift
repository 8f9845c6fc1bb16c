import Foundation
import Hummingbird
import Logging
import MartletCore
import MartletTesting
import ServiceLifecycle
import Testing

@testable import MartletHTTP

@Suite struct TraceTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private static func makeSpan(status: Int = 200) throws -> RequestSpan {
        let context = try #require(
            TraceContext(traceparent: "00-00f7651916cd43dd8448eb211c80319c-00ad6b7169203331-01"))
        return RequestSpan(
            context, parentID: 1, method: "GET", route: "/a/{b}", status: status, requestID: "r",
            end: 1_700_000_000_000_000_500, duration: 500)
    }

    // MARK: Encoding

    @Test func `The body has OTLP's JSON form: ids as hexadecimal, 64-bit numbers as strings`() throws {
        let export = TraceExport([try Self.makeSpan(status: 503)], process: "storage", instance: "i")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let attributes = [
            #"{"key":"error.type","value":{"stringValue":"503"}}"#,
            #"{"key":"http.request.method","value":{"stringValue":"GET"}}"#,
            #"{"key":"http.response.status_code","value":{"intValue":"503"}}"#,
            #"{"key":"http.route","value":{"stringValue":"/a/{b}"}}"#,
            #"{"key":"martlet.request.id","value":{"stringValue":"r"}}"#,
        ]
        let resource = [
            #"{"key":"service.instance.id","value":{"stringValue":"i"}}"#,
            #"{"key":"service.name","value":{"stringValue":"martlet-storage"}}"#,
            #"{"key":"service.version","value":{"stringValue":"\#(MartletVersion.current)"}}"#,
        ]
        let span = [
            #"{"attributes":[\#(attributes.joined(separator: ","))]"#,
            #""endTimeUnixNano":"1700000000000000500","kind":2,"name":"GET /a/{b}""#,
            #""parentSpanId":"0000000000000001","spanId":"00ad6b7169203331""#,
            #""startTimeUnixNano":"1700000000000000000","status":{"code":2}"#,
            #""traceId":"00f7651916cd43dd8448eb211c80319c"}"#,
        ].joined(separator: ",")
        let expected = [
            #"{"resourceSpans":[{"resource":{"attributes":[\#(resource.joined(separator: ","))]},"#,
            #""scopeSpans":[{"scope":{"name":"martlet","version":"\#(MartletVersion.current)"},"#,
            #""spans":[\#(span)]}]}]}"#,
        ].joined()
        #expect(String(decoding: try encoder.encode(export), as: UTF8.self) == expected)
    }

    // MARK: A service's spans

    @Test func `A service makes a span below its caller's, and passes it on while it answers`() async throws {
        let queue = SpanQueue()
        let client = try await ServiceClient(Traced(), spans: queue).acting(as: .service("gateway"))
        let answer = try await client.send("GET", "/traced/secret?q=secret", headers: ["traceparent": Self.parent])
        let spans = try #require(queue.takeBatch())
        let span = try #require(spans.first)
        #expect(spans.count == 1 && answer.text == span.context.traceparent)
        #expect(TraceContext.hexadecimal(span.context.traceID) == "0af7651916cd43dd8448eb211c80319c")
        #expect(span.parentID.map { TraceContext.hexadecimal($0) } == "b7ad6b7169203331")
        #expect(span.name == "GET /traced/{name}" && span.end >= span.start && !span.isError)
        let attributes: [String: RequestSpan.Value] = [
            "http.request.method": .text("GET"), "http.route": .text("/traced/{name}"),
            "http.response.status_code": .number(200), "martlet.request.id": .text("request-1"),
        ]
        #expect(span.attributes == attributes)
        let active = ActiveSpan(span.context)
        active.end()
        #expect(active.context == nil)
    }

    @Test(arguments: [nil, "nonsense", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"])
    func `A service starts no trace of its own`(_ header: String?) async throws {
        let queue = SpanQueue()
        let client = try await ServiceClient(Traced(), spans: queue).acting(as: .service("gateway"))
        let headers = header.map { ["traceparent": $0] } ?? [:]
        #expect(try await client.send("GET", "/traced/x", headers: headers).text == "none")
        #expect(queue.takeBatch() == nil)
    }

    @Test func `Without a queue, a service ignores the caller's trace`() async throws {
        let client = try await ServiceClient(Traced()).acting(as: .service("gateway"))
        #expect(try await client.send("GET", "/traced/x", headers: ["traceparent": Self.parent]).text == "none")
    }

    @Test func `A call to another service continues the trace`() async throws {
        let receiver = try await HookReceiver()
        let calls = ServiceCalls(caller: "storage", internalSecret: Secret("secret"))
        let url = try #require(URL(string: receiver.url))
        let span = TraceContext()
        for active in [ActiveSpan(span), nil] {
            _ = try await ActiveSpan.$current.withValue(active) {
                try await calls.post("", ["a"], to: ServiceAddress(name: "other", url: url), upTo: 1_000)
            }
        }
        #expect(receiver.received.map { $0.headers["traceparent"] } == [span.traceparent, nil])
    }

    // MARK: The exporter

    @Test func `A full batch is sent at once, and the rest when the process stops`() async throws {
        let collector = try await HookReceiver()
        let settings = try await Self.settings([
            "MARTLET_TRACES_ENDPOINT": collector.url + "/", "MARTLET_TRACES_HEADERS": "authorization=Bearer%20x, a=b",
        ])
        var exporter = try #require(try TraceExporter(process: "auth", settings: settings, logger: .silent))
        // Not two seconds, which a busy machine may need for the last request.
        exporter.flushTime = .seconds(60)
        let group = ServiceGroup(services: [exporter], logger: .silent)
        async let end: Void = group.run()
        for _ in 0..<SpanQueue.maximumBatchCount { exporter.queue.append(try Self.makeSpan()) }
        try await collector.wait(for: 1)
        for _ in 0..<3 { exporter.queue.append(try Self.makeSpan()) }
        await group.triggerGracefulShutdown()
        try await end
        let counts = collector.received.map { $0.body.components(separatedBy: #""spanId""#).count - 1 }
        // The stop may interrupt one batch before it is acknowledged; it is then sent again.
        let full = SpanQueue.maximumBatchCount
        #expect([[full, 3], [full, full, 3], [full, 3, 3]].contains(counts), "\(counts)")
        let headers = try #require(collector.received.first?.headers)
        #expect(headers["authorization"] == "Bearer x" && headers["a"] == "b")
        #expect(headers["content-type"] == "application/json")
    }

    @Test(arguments: [(200, 1), (400, 1), (401, 1), (500, 1), (429, 2), (502, 2), (503, 2), (504, 2)])
    func `A batch is sent twice only if the collector has no time now`(_ status: Int, _ attempts: Int) async throws {
        // The text is the `Retry-After` of 429, which replaces the pause.
        let collector = try await HookReceiver { _ in (status, "0") }
        let exporter = TraceExporter(
            process: "auth", endpoint: try #require(URL(string: collector.url)),
            pause: status == 429 ? .seconds(3_600) : .zero, logger: .silent)
        let isAccepted = (try? await exporter.send([try Self.makeSpan()])) != nil
        #expect(collector.received.count == attempts && isAccepted == (status == 200))
    }

    @Test(arguments: ["a", "=b", "a b=c", "a=%0d%0a", "a=b,c"])
    func `Headers that are not a list of names and values are refused, without their values`(_ text: String)
        async throws
    {
        let settings = try await Self.settings([
            "MARTLET_TRACES_ENDPOINT": "http://127.0.0.1:4318", "MARTLET_TRACES_HEADERS": text,
        ])
        let error = #expect(throws: SettingsError.self) {
            _ = try TraceExporter(process: "auth", settings: settings, logger: .silent)
        }
        #expect(error?.key == "traces.headers")
    }

    @Test func `Without an endpoint there is no exporter`() async throws {
        let settings = try await Self.settings(["MARTLET_TRACES_HEADERS": "a=b"])
        #expect(try TraceExporter(process: "auth", settings: settings, logger: .silent) == nil)
    }

    private static func settings(_ environment: [String: String]) async throws -> Settings {
        try await Settings(arguments: ["program"], environment: environment)
    }
}

/// A service that answers with the span of the request.
private struct Traced: StubService {
    static let name = "traced"

    func addRoutes(to routes: inout RouteTable) {
        routes.get("/traced/{name}") { _, _ in ActiveSpan.current?.context?.traceparent ?? "none" }
    }
}
