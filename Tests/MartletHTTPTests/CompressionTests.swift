import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCompression
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import MartletHTTP

@Suite struct CompressionTests {
    private let principal = Principal.service("gateway")

    @Test(
        arguments: [
            ("gzip, deflate, br", "br"), ("gzip", "gzip"), ("br", "br"), ("BR;Q=1, gzip;q=0.9", "br"),
            ("br;q=0.5, gzip", "gzip"), ("x-gzip", "gzip"),
            ("*", "br"), ("*;q=0.1, br;q=0", "gzip"), ("identity", nil), ("gzip;q=0", nil),
            ("gzip;q=0.000, br;q=0", nil), ("zstd, deflate", nil),
            ("gzip;q=x", nil), (",,;", nil), ("*;q=0", nil), (nil, nil),
        ] as [(String?, String?)])
    func `A response is compressed as Accept-Encoding allows, with Brotli preferred to gzip`(
        _ accepted: String?, _ coding: String?
    )
        async throws
    {
        for size in [1_024, 1_500, 20_000, 127 << 10, 128 << 10, 300 << 10, 1 << 20] {
            let answer = try await ask("/json?size=\(size)", accepted)
            let plain = String(decoding: Pages.json(size).utf8, as: UTF8.self)
            #expect(
                answer.status == 200 && answer.header("content-encoding") == coding
                    && answer.header("vary") == "Accept-Encoding")
            #expect(answer.header("content-length") == "\(answer.body.readableBytes)")
            let unpacked =
                try coding.map { try Inflate.decode(answer.body, try #require(ContentCoding(name: $0)), upTo: 4 << 20) }
                ?? answer.body
            #expect(String(buffer: unpacked) == plain)
            #expect(coding == nil || answer.body.readableBytes < size * 3 / 4)
        }
    }

    @Test(arguments: [
        "/json?size=1023", "/text", "/secret", "/file", "/packed", "/stream", "/random", "/event-stream", "/big",
    ])
    func `Small, secret, streamed, non-JSON, partial and already compressed responses stay as they are`(_ path: String)
        async throws
    {
        let (plain, answer) = (try await ask(path, nil), try await ask(path, "gzip, br"))
        #expect(answer.status == 200 && answer.body == plain.body && answer.body.readableBytes > 1_000)
        #expect(answer.header("content-encoding") == (path == "/packed" ? "gzip" : nil))
    }

    @Test func `A response to HEAD has no body and is not compressed`() async throws {
        let answer = try await client().send("HEAD", "/json?size=20000", headers: ["Accept-Encoding": "gzip"])
        #expect(answer.status == 200 && answer.text.isEmpty && answer.header("content-encoding") == nil)
    }

    @Test func `The tag of a compressed response is weak, is accepted in either form, and is repeated by 304`()
        async throws
    {
        let packed = try await ask("/tagged", "gzip")
        #expect(packed.header("etag") == #"W/"7""# && packed.header("content-encoding") == "gzip")
        #expect(try await ask("/tagged", nil).header("etag") == #""7""#)
        for (known, tag) in [(#""7""#, #""7""#), (#"W/"7""#, #"W/"7""#), (#""6", W/"7""#, #"W/"7""#)] {
            for accepted in ["gzip", "identity"] {
                let same = try await client().send(
                    "GET", "/tagged", headers: ["Accept-Encoding": accepted, "If-None-Match": known])
                #expect(
                    same.status == 304 && same.header("vary") == "Accept-Encoding" && same.header("etag") == tag
                        && same.text.isEmpty, "\(known)")
            }
        }
        for tag in [#""7""#, #"W/"7""#] {
            #expect(try await client().send("PUT", "/tagged", "{}", headers: ["If-Match": tag]).status == 204)
        }
        #expect(try await client().send("PUT", "/tagged", "{}", headers: ["If-Match": #"W/"6""#]).status == 412)
    }

    @Test func `Vary keeps the names it had before`() async throws {
        #expect(try await ask("/varying", "br").header("vary") == "Authorization, Accept-Encoding")
    }

    @Test func `A service whose responses contain secrets compresses none`() async throws {
        let client = try await ServiceClient(Pages(compressesAnswers: false)).acting(as: principal)
        let answer = try await client.send("GET", "/json?size=20000", headers: ["Accept-Encoding": "br"])
        #expect(answer.status == 200 && answer.header("content-encoding") == nil && answer.header("vary") == nil)
    }

    @Test func `Concurrent requests are all answered, compressed or not`() async throws {
        let client = try await client()
        try await withThrowingTaskGroup(of: Answer.self) { tasks in
            for _ in 0..<64 {
                tasks.addTask { try await client.send("GET", "/json?size=1000000", headers: ["Accept-Encoding": "br"]) }
            }
            for try await answer in tasks {
                let unpacked =
                    answer.header("content-encoding") == nil
                    ? answer.body : try Inflate.decode(answer.body, .brotli, upTo: 4 << 20)
                #expect(String(buffer: unpacked) == Pages.json(1_000_000))
            }
        }
        #expect(try await ask("/json?size=1000000", "br").header("content-encoding") == "br", "Places are given back.")
    }

    private func client() async throws -> ServiceClient { try await ServiceClient(Pages()).acting(as: principal) }

    private func ask(_ path: String, _ accepted: String?) async throws -> Answer {
        try await client().send("GET", path, headers: accepted.map { ["Accept-Encoding": $0] } ?? [:])
    }
}

private struct Pages: StubService {
    static let name = "pages"

    var compressesAnswers = true

    /// JSON of a given size in bytes.
    static func json(_ size: Int) -> String {
        let objects = (0...size / 20).map { #"{"id":\#($0),"n":"name"}"# }.joined(separator: ",")
        return "[\"" + objects.replacing("\"", with: "'").prefix(size - 4) + "\"]"
    }

    func addRoutes(to routes: inout RouteTable) {
        routes.get("/json") { request, _ in
            Response.json(Self.json(Int(request.uri.queryParameters["size"] ?? "") ?? 0))
        }
        routes.get("/text") { _, _ in Self.page(type: "text/plain; charset=utf-8") }
        routes.get("/event-stream") { _, _ in Self.page(type: "text/event-stream") }
        routes.get("/secret") { _, _ in Self.page().notStored }
        routes.get("/file") { _, _ in Self.page(headers: [.acceptRanges: "bytes"]) }
        routes.get("/packed") { _, _ in Self.page(headers: [.contentEncoding: "gzip"]) }
        routes.get("/varying") { _, _ in Self.page(headers: [.vary: "Authorization"]) }
        routes.get("/big") { _, _ in Response.json(Self.json(16 << 20 | 1)) }
        routes.get("/random") { _, _ in
            // Random bytes cannot be compressed.
            var (state, bytes): (UInt64, [UInt8]) = (1, [])
            for _ in 0..<4_000 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append(UInt8(truncatingIfNeeded: state >> 56))
            }
            return Response.json(ByteBuffer(bytes: bytes))
        }
        routes.get("/stream") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init { writer in
                    try await writer.write(ByteBuffer(string: Self.json(5_000)))
                    try await writer.finish(nil)
                })
        }
        routes.get("/tagged") { request, _ in
            let tag = EntityTag(text: "7")
            if let known = request.headers[.ifNoneMatch], try EntityTag.list(known)?.contains(tag) ?? true {
                return Response(status: .notModified, headers: [.eTag: tag.header])
            }
            return Self.page(headers: [.eTag: tag.header])
        }
        routes.on(.put, "tagged") { request, _ in
            let isMet = try Precondition(request)?.tags?.contains("7") ?? false
            return Response(status: isMet ? .noContent : .preconditionFailed)
        }
    }

    private static func page(type: String = "application/json; charset=utf-8", headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = type
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: json(5_000))))
    }
}
