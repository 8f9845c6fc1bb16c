import NIOHTTP1
import Testing

/// Typical request smuggling is refused, the connection is closed, and no upstream sees any of it.
@Suite struct SmugglingTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var request: String
        var status = 400

        init(_ name: String, _ request: String, _ status: Int = 400) {
            testDescription = name
            self.request = request
            self.status = status
        }
    }

    static let head = "POST /api/mk_live_A/storage/echo HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n"
    static let next = "GET /api/mk_live_A/storage/smuggled HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n\r\n"

    static func target(_ target: String) -> String {
        "GET \(target) HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n\r\n" + next
    }

    static let framing = [
        Case("length and coding", head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG" + next),
        Case("coding and length", head + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG" + next),
        Case("two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab" + next),
        Case("two equal lengths", head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na" + next),
        Case("length list", head + "Content-Length: 1, 1\r\n\r\na" + next),
        Case("length with a sign", head + "Content-Length: +5\r\n\r\nabcde" + next),
        Case("negative length", head + "Content-Length: -1\r\n\r\n" + next),
        Case("hexadecimal length", head + "Content-Length: 0x5\r\n\r\nabcde" + next),
        Case("length with a blank inside", head + "Content-Length: 1 0\r\n\r\nabcde" + next),
        Case("empty length", head + "Content-Length:\r\n\r\n" + next),
        Case("huge length", head + "Content-Length: 99999999999999999999\r\n\r\n" + next),
        Case("coding xchunked", head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + next),
        Case("coding list", head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + next),
        Case("coding identity", head + "Transfer-Encoding: identity\r\n\r\n" + next),
        Case("coding with vertical tab", head + "Transfer-Encoding: \u{0b}chunked\r\n\r\n0\r\n\r\n" + next),
        Case("coding in quotes", head + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" + next),
        Case("coding twice", head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next),
        Case(
            "coding twice, other one",
            head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n" + next),
        Case("blank before colon", head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + next),
        Case("folded line", head + "X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n" + next),
        Case("folded with tab", head + "X-A: 1\r\n\tb\r\n\r\n" + next),
        Case("leading blank on first header", "GET /api/mk_live_A/storage/x HTTP/1.1\r\n Host: gw\r\n\r\n" + next),
        Case("bare LF in head", head + "X-A: 1\nTransfer-Encoding: chunked\r\n\r\n" + next),
        Case("bare LF throughout", "GET /api/mk_live_A/storage/x HTTP/1.1\nHost: gw\n\n"),
        Case("bare CR in value", head + "X-A: 1\rTransfer-Encoding: chunked\r\n\r\n" + next),
        Case("NUL in value", head + "X-A: 1\0\r\n\r\n" + next),
        Case("NUL in name", head + "X-\0A: 1\r\n\r\n" + next),
        Case("DEL in value", head + "X-A: \u{7f}\r\n\r\n" + next),
        Case("line without colon", head + "X-A\r\n\r\n" + next),
        Case("empty name", head + ": 1\r\n\r\n" + next),
        Case("name with bracket", head + "X[A]: 1\r\n\r\n" + next),
        Case("name with non-ASCII", head + "X-Ä: 1\r\n\r\n" + next),
        Case("no Host", "GET /api/mk_live_A/storage/x HTTP/1.1\r\nX-Martlet-Secret: ms_A\r\n\r\n" + next),
        Case("two Hosts", "GET /api/mk_live_A/storage/x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + next),
        Case("Host with a path", "GET /api/mk_live_A/storage/x HTTP/1.1\r\nHost: a/b\r\n\r\n" + next),
        Case("empty Host", "GET /api/mk_live_A/storage/x HTTP/1.1\r\nHost:\r\n\r\n" + next),
        Case(
            "coding on 1.0",
            "POST /api/mk_live_A/storage/echo HTTP/1.0\r\nX-Martlet-Secret: ms_A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        Case("two secrets", head + "X-Martlet-Secret: ms_B\r\n\r\n" + next),
    ]

    static let requestLines = [
        Case("HTTP/0.9", "GET /api/mk_live_A/storage/x\r\n"),
        Case("lower-case version", "GET /api/mk_live_A/storage/x http/1.1\r\nHost: gw\r\n\r\n"),
        Case("version 1.2", "GET /api/mk_live_A/storage/x HTTP/1.2\r\nHost: gw\r\n\r\n", 505),
        Case("version 2.0", "GET /api/mk_live_A/storage/x HTTP/2.0\r\nHost: gw\r\n\r\n", 505),
        Case("two blanks", "GET  /api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\n\r\n"),
        Case("tab", "GET\t/api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\n\r\n"),
        Case("blank in target", "GET /api/mk_live_A/storage/x y HTTP/1.1\r\nHost: gw\r\n\r\n"),
        Case("leading blank", " GET /api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\n\r\n"),
        Case("unknown method", "FROB /api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\n\r\n", 501),
        Case("lower-case method", "get /api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\n\r\n", 501),
        Case("CONNECT", "CONNECT gw:443 HTTP/1.1\r\nHost: gw:443\r\n\r\n"),
        Case("absolute form", target("http://gw/api/mk_live_A/storage/x")),
        Case("absolute form, other host", target("http://evil/api/mk_live_A/storage/x")),
        Case("asterisk", "OPTIONS * HTTP/1.1\r\nHost: gw\r\n\r\n"),
        Case("no slash", target("api/mk_live_A/storage/x")),
        Case("raw binary", "\u{16}\u{3}\u{1}\u{2}\u{0}\r\n\r\n"),
    ]

    static let paths = [
        "/api/mk_live_A/storage/../collections/x", "/api/mk_live_A/storage/..", "/api/mk_live_A/storage/./x",
        "/api/mk_live_A/./storage/x",
        "/api/mk_live_A/storage//x", "//api/mk_live_A/storage/x", "/api/mk_live_A/storage/%2e%2e/collections/x",
        "/api/mk_live_A/storage/.%2E/x",
        "/api/mk_live_A/storage/%2e/x", "/api/mk_live_A/storage/..;/x", "/api/mk_live_A/storage/..;a=b/x",
        "/api/mk_live_A/storage/a%2Fb", "/api/mk_live_A/storage/a%2fb",
        "/api/mk_live_A/storage/..%2Fcollections", "/api/mk_live_A/storage/a%5Cb", "/api/mk_live_A/storage/a\\b",
        "/api/mk_live_A/storage/%00", "/api/mk_live_A/storage/a%0d%0aX",
        "/api/mk_live_A/storage/%zz", "/api/mk_live_A/storage/%2", "/api/mk_live_A/storage/%",
        "/api/mk_live_A/storage/x#y", "/api/mk_live_A/storage/é",
        "/api/mk_live_A/storage/<x>", "/api/mk_live_A/storage/x?a=%zz", "/api/mk_live_A/storage/x?a#b",
        "/api/mk_live_A/storage/\u{7f}",
        "/api/mk_live_A/storage/x?keys=%00", "/api/mk_live_A/storage/x?a=%0D%0aX", "/api/mk_live_A/storage/x?%1f",
        "/api/mk_live_A/storage/x?a=b%7F",
    ].map { Case($0, target($0)) }

    static let chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
    static let chunks = [
        Case("size not hexadecimal", chunked + "g\r\nabc\r\n0\r\n\r\n" + next),
        Case("size with a sign", chunked + "+3\r\nabc\r\n0\r\n\r\n" + next),
        Case("size with 0x", chunked + "0x3\r\nabc\r\n0\r\n\r\n" + next),
        Case("negative size", chunked + "-1\r\nabc\r\n0\r\n\r\n" + next),
        Case("empty size", chunked + "\r\nabc\r\n0\r\n\r\n" + next),
        Case("size with leading blank", chunked + " 3\r\nabc\r\n0\r\n\r\n" + next),
        Case("huge size", chunked + "fffffffffffffffff\r\nabc\r\n" + next),
        Case("data longer than size", chunked + "3\r\nabcd\r\n0\r\n\r\n" + next),
        Case("bare LF behind size", chunked + "3\nabc\r\n0\r\n\r\n" + next),
        Case("bare LF behind data", chunked + "3\r\nabc\n0\r\n\r\n" + next),
        Case("bare CR in extension", chunked + "3;a\rb\r\nabc\r\n0\r\n\r\n" + next),
        Case("long extension", chunked + "3;" + String(repeating: "a", count: 5000) + "\r\nabc\r\n0\r\n\r\n" + next),
        Case("bad trailer", chunked + "3\r\nabc\r\n0\r\nX Y: 1\r\n\r\n" + next),
        Case("folded trailer", chunked + "3\r\nabc\r\n0\r\nX: 1\r\n 2\r\n\r\n" + next),
        Case("endless trailer", chunked + "0\r\n" + String(repeating: "X: 1\r\n", count: 3000) + next),
    ]

    @Test func `Ambiguous heads are refused`() async throws {
        try await withGateway { test in
            for item in Self.framing + Self.requestLines + Self.paths {
                let client = try await test.exchange(item.request)
                #expect(client.status == item.status, "\(item.testDescription): \(client.text)")
                #expect(client.isClosed, "\(item.testDescription)")
                #expect(client.text.contains("application/problem+json"), "\(item.testDescription)")
                if item.testDescription.contains("x?") {
                    #expect(client.text.contains("invalid-parameter"), "\(item.testDescription): \(client.text)")
                }
                #expect(!client.text.dropFirst(8).contains("HTTP/1.1 "), "\(item.testDescription): a second answer")
            }
            #expect(test.upstream.arrivals.isEmpty, "\(test.upstream.arrivals)")
        }
    }

    @Test(arguments: chunks)
    func `Malformed chunks are refused, and nothing after them is parsed as a request`(_ item: Case) async throws {
        try await withGateway { test in
            let client = try await test.exchange(item.request)
            #expect(client.status == item.status, "\(client.text)")
            #expect(client.isClosed)
            // The head was valid, so the upstream may have seen it; the request never ended, and no other arrived.
            #expect(test.upstream.arrivals.count <= 1)
            #expect(!test.upstream.arrivals.contains { $0.head.uri.contains("smuggled") })
            let isAborted = await eventually { test.upstream.arrivals.allSatisfy(\.isAborted) }
            #expect(isAborted)
        }
    }

    @Test func `Valid chunks with extensions and trailers are reframed`() async throws {
        try await withGateway { test in
            let request =
                Self.head
                + "Transfer-Encoding: Chunked\r\nConnection: close\r\n\r\n3;a=b\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n"
            let client = try await test.exchange(request)
            #expect(client.status == 200)
            #expect(client.body == "abc0123456789")
        }
    }

    @Test func `A request that arrives byte by byte is served, and so are pipelined ones`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            for byte in TestGateway.request("echo", method: "POST", body: "drip").utf8 { try await client.send([byte]) }
            await client.wait(for: "drip")
            #expect(client.text.hasSuffix("drip"))
            try await client.send(
                TestGateway.request("one") + TestGateway.request("echo", method: "POST", body: "two")
                    + TestGateway.request("three"))
            await eventually { client.text.components(of: "HTTP/1.1 200").count == 5 }
            let uris = test.upstream.arrivals.map(\.head.uri)
            #expect(uris == ["/storage/echo", "/storage/one", "/storage/echo", "/storage/three"])
            await client.close()
        }
    }
}

extension String {
    func components(of part: String) -> [Substring] { split(separator: part, omittingEmptySubsequences: false) }
}
