import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import Testing

@testable import MartletHTTP

/// `DirectHandler` between a client and a recorder that stands for Hummingbird.
@Suite struct DirectHandlerTests {
    private let notes: Notes
    private let router: Router
    private let channel: EmbeddedChannel

    init() throws {
        notes = Notes()
        router = Router()
        let direct = try #require(
            DirectResponder(notes, signer: ServiceClient.signer, spans: nil, logger: .silent))
        channel = EmbeddedChannel(handlers: [DirectHandler(direct), router])
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/none")).wait()
    }

    @Test func `a request is answered without the router, with a date and the length`() throws {
        try send(get("/notes/a"))
        notes.answer(DirectAnswer(headers: [.eTag: "\"1\""], body: ByteBuffer(string: "{}")))
        channel.embeddedEventLoop.run()
        let (head, body) = try #require(try answer())
        #expect(head.status == .ok && head.headerFields[.eTag] == "\"1\"" && body == "{}")
        #expect(head.headerFields[.contentLength] == "2" && head.headerFields[.date]?.hasSuffix(" GMT") == true)
        #expect(router.received.isEmpty && notes.asked == ["a"])
    }

    @Test(arguments: [
        "/notes", "/notes/", "/notes/a/b", "/notes/a?x=1", "/notes/a?limit=10", "/notes/a%62", "/notes/count",
        "/notes/find", "//a", "/others/a", "notes/a", "/notes//a", "/owners/a",
    ])
    func `a path that only the router can decide about is passed on`(_ path: String) throws {
        try send(get(path))
        #expect(router.received == ["head \(path)", "end"] && notes.asked.isEmpty)
    }

    @Test func `a request of another kind is passed on`() throws {
        var heads = [get("/notes/a"), get("/notes/a"), get("/notes/a")]
        heads[0].method = .head
        heads[1].headerFields[.connection] = "close"
        heads[2].headerFields = [:]
        for kind in [Principal.Kind.service, .staff, .visitor] {
            heads.append(get("/notes/a"))
            heads[heads.count - 1].headerFields[principalField] = try ServiceClient.signer.header(
                for: principal(kind), at: Date())
        }
        for head in heads {
            router.received = []
            try send(head)
            #expect(router.received == ["head /notes/a", "end"])
            try router.answer("router", channel)
            _ = try answer()
        }
        #expect(notes.asked.isEmpty)
    }

    @Test func `a body that a route does not accept, or is large, is passed on`() throws {
        try send(get("/notes/a"), body: ["x"])
        #expect(router.received == ["head /notes/a", "body x", "end"])
        try router.answer("router", channel)
        _ = try answer()
        router.received = []
        var large = get("/notes/find/a")
        large.method = .post
        large.headerFields[.contentLength] = "\(DirectResponder.maximumSizeInBytes + 1)"
        try channel.writeInbound(HTTPRequestPart.head(large))
        #expect(router.received == ["head /notes/find/a"] && notes.asked.isEmpty)
    }

    @Test func `a small body is passed to the endpoint, or to the router if the endpoint leaves the request to it`()
        throws
    {
        var find = get("/notes/find/a")
        find.method = .post
        find.headerFields[.contentLength] = "5"
        try send(find, body: ["{\"a", "\":"])
        #expect(notes.asked == ["a{\"a\":"] && router.received.isEmpty)
        notes.answer(nil)
        channel.embeddedEventLoop.run()
        #expect(router.received == ["head /notes/find/a", "body {\"a\":", "end"])
    }

    @Test func `a plus sign in a query is a space, and a query that the route declares is answered`() throws {
        try send(get("/notes/a?limit=1"))
        #expect(notes.asked == ["a"])
        notes.answer(DirectAnswer(headers: [:]))
        channel.embeddedEventLoop.run()
        #expect(try answer()?.head.headerFields[.contentLength] == "0")
        try send(get("/notes/b?limit=+1"))
        #expect(router.received == ["head /notes/b?limit=+1", "end"])
    }

    @Test func `a large enough answer is compressed`() async throws {
        let direct = try #require(
            DirectResponder(notes, signer: ServiceClient.signer, spans: nil, logger: .silent))
        // The task that compresses must not use the loop of an `EmbeddedChannel`.
        let channel = try await NIOAsyncTestingChannel { channel in
            try channel.pipeline.syncOperations.addHandler(DirectHandler(direct))
        }
        var head = get("/notes/a")
        head.headerFields[.acceptEncoding] = "gzip"
        try await channel.writeInbound(HTTPRequestPart.head(head))
        try await channel.writeInbound(HTTPRequestPart.end(nil))
        let text = String(repeating: "word ", count: 400)
        notes.answer(DirectAnswer(headers: [.contentType: Response.jsonType], body: ByteBuffer(string: text)))
        guard case .head(let packed) = try await channel.waitForOutboundWrite(as: HTTPResponsePart.self) else {
            Issue.record("The answer has no head.")
            return
        }
        #expect(packed.headerFields[.contentEncoding] == "gzip" && packed.headerFields[.vary] == "Accept-Encoding")
        #expect(packed.headerFields[.contentLength].flatMap { Int($0) } ?? .max < 200)
        _ = try await channel.finish()
    }

    @Test func `the router answers what the endpoint leaves to it`() throws {
        notes.refuses.withLock { $0 = true }
        try send(get("/notes/a"))
        #expect(router.received == ["head /notes/a", "end"])
        try router.answer("router", channel)
        #expect(try answer()?.body == "router")

        notes.refuses.withLock { $0 = false }
        try send(get("/notes/b"))
        #expect(router.received.count == 2)
        notes.answer(nil)
        channel.embeddedEventLoop.run()
        #expect(router.received == ["head /notes/a", "end", "head /notes/b", "end"])
        try router.answer("router", channel)
        #expect(try answer()?.body == "router")
    }

    @Test func `an answer that counts against the budget for large answers is left to the router`() throws {
        try send(get("/notes/a"))
        notes.answer(DirectAnswer(headers: [:], body: ByteBuffer(repeating: 0x20, count: (64 << 10) + 1)))
        channel.embeddedEventLoop.run()
        #expect(router.received == ["head /notes/a", "end"])
    }

    @Test func `an error is answered without the router, so that its cause is not met twice`() throws {
        var head = get("/notes/a")
        head.headerFields[HTTPField.Name(HeaderName.requestID)!] = "r1"
        try send(head)
        notes.finish(.failure(ServiceError(.unavailable, "Try later.")))
        channel.embeddedEventLoop.run()
        let (answered, body) = try #require(try answer())
        #expect(answered.status == .serviceUnavailable && body.contains("Try later.") && body.contains("r1"))
        #expect(answered.headerFields[.contentType] == Problem.contentType)
        #expect(answered.headerFields[.retryAfter] == "1" && router.received.isEmpty)
    }

    @Test func `requests that arrive at once are answered in their order`() throws {
        for path in ["/notes/a", "/notes/b", "/others/c", "/notes/d"] { try send(get(path)) }
        #expect(notes.asked == ["a"] && router.received.isEmpty)
        notes.answer(DirectAnswer(headers: [:], body: ByteBuffer(string: "a")))
        channel.embeddedEventLoop.run()
        #expect(try answer()?.body == "a")
        #expect(notes.asked == ["a", "b"] && router.received.isEmpty)
        notes.answer(DirectAnswer(headers: [:], body: ByteBuffer(string: "b")))
        channel.embeddedEventLoop.run()
        #expect(try answer()?.body == "b")
        // The router has an unanswered request, so it gets the next one as well.
        #expect(router.received == ["head /others/c", "end", "head /notes/d", "end"] && notes.asked == ["a", "b"])
        for text in ["c", "d"] {
            try router.answer(text, channel)
            #expect(try answer()?.body == text)
        }
        try send(get("/notes/e"))
        #expect(notes.asked == ["a", "b", "e"])
    }

    @Test func `nothing is read, and no event passes, before the answer`() throws {
        try send(get("/notes/a"))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.pipeline.fireErrorCaught(Unreadable())
        channel.read()
        #expect(router.events.isEmpty)
        notes.answer(DirectAnswer(headers: [:], body: ByteBuffer(string: "a")))
        channel.embeddedEventLoop.run()
        #expect(try answer()?.body == "a")
        #expect(router.events == ["inputClosed", "Unreadable()"])
    }

    @Test func `the router knows of an incomplete request when the service is about to stop`() throws {
        var find = get("/notes/find/a")
        find.method = .post
        find.headerFields[.contentLength] = "2"
        try channel.writeInbound(HTTPRequestPart.head(find))
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        #expect(router.received.isEmpty)
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(router.received == ["head /notes/find/a", "body {"])
        #expect(router.events == ["ChannelShouldQuiesceEvent()"])
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "}")))
        try channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(router.received == ["head /notes/find/a", "body {", "body }", "end"] && notes.asked.isEmpty)
    }

    @Test func `an answer that comes after the connection has closed is dropped`() throws {
        try send(get("/notes/a"))
        try channel.close().wait()
        notes.answer(DirectAnswer(headers: [:], body: ByteBuffer(string: "a")))
        channel.embeddedEventLoop.run()
        #expect(try answer() == nil)
    }

    @Test func `a date has the form of RFC 9110`() {
        var date = HTTPDate()
        #expect(date.text(at: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(date.text(at: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(date.text(at: 951_782_400) == "Tue, 29 Feb 2000 00:00:00 GMT")
    }

    // MARK: - Support

    private struct Unreadable: Error {}

    private func principal(_ kind: Principal.Kind) -> Principal {
        Principal(kind: kind, appID: "app", appNumber: 1, environment: .live, credentialID: "c")
    }

    private let principalField = HTTPField.Name(HeaderName.principal)!

    private func get(_ path: String) -> HTTPRequest {
        let header = try? ServiceClient.signer.header(for: principal(.client), at: Date())
        return HTTPRequest(
            method: .get, scheme: "http", authority: "test", path: path, headerFields: [principalField: header ?? ""])
    }

    private func send(_ head: HTTPRequest, body: [String] = []) throws {
        try channel.writeInbound(HTTPRequestPart.head(head))
        for part in body { try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: part))) }
        try channel.writeInbound(HTTPRequestPart.end(nil))
    }

    /// The next complete answer; nil if there is none.
    private func answer() throws -> (head: HTTPResponse, body: String)? {
        guard case .head(let head)? = try channel.readOutbound(as: HTTPResponsePart.self) else { return nil }
        var body = ""
        while case .body(let part)? = try channel.readOutbound(as: HTTPResponsePart.self) {
            body += String(buffer: part)
        }
        return (head, body)
    }

    /// A service whose endpoint answers when the test says so.
    private final class Notes: StubService, DirectEndpoint {
        static let name = "notes"

        let refuses = Mutex(false)
        private typealias Completion = @Sendable (Result<DirectAnswer?, any Error>) -> Void
        private let state = Mutex<(asked: [String], completion: Completion?)>(([], nil))

        init() {}
        func addRoutes(to routes: inout RouteTable) {
            let limit = RouteParameter.query("limit", .integer.range(0, 9).defaulting(to: 1))
            routes.on(
                Route(.get, "/notes/{id}", "readNote", "Returns a note.", callers: .client, parameters: [limit]), self)
            routes.on(
                Route(.post, "/notes/find/{id}", "findNote", "Finds notes.", callers: .client, body: .json(.any)), self)
            routes.on(Route(.get, "/owners/{id}", "readOwner", "Returns an owner.", callers: .server), self)
            routes.get("/notes/count") { _, _ in Response.json("{}") }
        }

        func respond(to request: Request, _ context: ServiceContext) async throws -> Response { Response.json("{}") }

        func start(
            _ direct: DirectRequest, completion: @escaping @Sendable (Result<DirectAnswer?, any Error>) -> Void
        ) -> Bool {
            if refuses.withLock({ $0 }) { return false }
            state.withLock { state in
                state.asked.append(direct.parameters.joined(separator: ",") + String(buffer: direct.body))
                state.completion = completion
            }
            return true
        }

        var asked: [String] { state.withLock { $0.asked } }

        func answer(_ answer: DirectAnswer?) { finish(.success(answer)) }

        func finish(_ result: Result<DirectAnswer?, any Error>) {
            let completion = state.withLock { state in
                defer { state.completion = nil }
                return state.completion
            }
            completion?(result)
        }
    }

    /// Records what it receives, and answers when the test says so.
    private final class Router: ChannelDuplexHandler {
        typealias InboundIn = HTTPRequestPart
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart

        var received: [String] = []
        var events: [String] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): received.append("head \(head.path ?? "")")
            case .body(let body): received.append("body " + String(buffer: body))
            case .end: received.append("end")
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { events.append("\(event)") }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { events.append("\(error)") }

        func answer(_ text: String, _ channel: EmbeddedChannel) throws {
            let parts: [HTTPResponsePart] = [
                .head(HTTPResponse(status: .ok)), .body(ByteBuffer(string: text)), .end(nil),
            ]
            let context = try channel.pipeline.syncOperations.context(handler: self)
            for part in parts { context.write(wrapOutboundOut(part), promise: nil) }
            channel.flush()
        }
    }
}
