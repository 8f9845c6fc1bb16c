import NIOHTTP1
import Testing

@testable import GatewayService

/// Headers that are added, kept and removed in both directions.
@Suite struct HeaderTests {
    @Test func `The upstream gets the rewritten path, the gateway's headers, and nothing confidential`() async throws {
        try await withGateway { test in
            let client = try await test.ask(
                "Notes/a%20b?x=1&y=%2e",
                [
                    "Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: 5", "TE: trailers", "Trailer: X",
                    "Proxy-Authorization: p",
                    "Proxy-Connection: close", "Upgrade: h2c", "HTTP2-Settings: AAA", "X-Martlet-Principal: forged",
                    "x-martlet-anything: 1",
                    "X-MARTLET-AB: 1", "X-Martlet-: 1", "X-Martlet-Master-Key: mm_A", "X-Forwarded-For: 1.2.3.4",
                    "X-Forwarded-Proto: https",
                    "X-Forwarded-Host: evil", "Forwarded: for=1.2.3.4", "X-Kept: yes", "Authorization: Basic user",
                    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate: a=b",
                    "Cookie: a=b", "Accept: */*",
                ])
            #expect(client.status == 200, "\(client.text)")
            let head = try #require(test.upstream.arrivals.first?.head)
            #expect(head.uri == "/storage/Notes/a%20b?x=1&y=%2e")
            let names = Set(head.headers.map { $0.name.lowercased() })
            #expect(
                names == [
                    "host", "x-kept", "accept", "x-martlet-principal", "x-request-id", "x-forwarded-for",
                    "x-forwarded-proto", "x-forwarded-host",
                ])
            #expect(head.headers["x-martlet-principal"].count == 1)
            #expect(head.headers.first(name: "x-martlet-principal") != "forged")
            #expect(head.headers["x-forwarded-for"] == ["127.0.0.1"])
            #expect(head.headers["x-forwarded-proto"] == ["http"])
            #expect(head.headers["x-forwarded-host"] == ["gw"])
            #expect(!"\(head)".contains("ms_A") && !"\(head)".contains("mm_A") && !"\(head)".contains("mk_live_A"))
        }
    }

    @Test func `The client gets the response without the upstream's internal headers`() async throws {
        try await withGateway { test in
            let client = try await test.ask("Notes")
            let text = client.text.lowercased()
            for gone in ["server:", "x-martlet", "x-drop", "keep-alive"] {
                #expect(!text.contains(gone), "\(gone) in \(text)")
            }
            for kept in ["x-keep: 1", "x-request-id: ", "connection: close", "content-length: 10"] {
                #expect(text.contains(kept), "\(kept) in \(text)")
            }
        }
    }

    @Test(arguments: [
        ("abc.DEF_1-2", true), ("bad id", false), (String(repeating: "a", count: 65), false), ("x\"y", false),
    ])
    func `A client's request id is kept if it is well-formed`(_ id: String, _ isKept: Bool) async throws {
        try await withGateway { test in
            let client = try await test.ask("Notes", ["X-Request-Id: \(id)"])
            let seen = test.upstream.arrivals.first?.head.headers["x-request-id"] ?? []
            #expect(seen.count == 1)
            #expect((seen.first == id) == isKept)
            #expect(client.text.contains("x-request-id: \(seen.first ?? "?")\r\n"))
        }
    }

    @Test func `Forwarding headers are trusted only from a trusted proxy`() async throws {
        try await withGateway(configure: { $0.trustedProxies = ["127.0.0.1"] }) { test in
            _ = try await test.ask(
                "Notes", ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: api.example"])
            let headers = try #require(test.upstream.arrivals.first?.head.headers)
            #expect(headers["x-forwarded-for"] == ["203.0.113.9, 127.0.0.1"])
            #expect(headers["x-forwarded-proto"] == ["https"])
            #expect(headers["x-forwarded-host"] == ["api.example"])
            let request = "GET /api/mk_live_A/collections/x HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n"
            let near = try await test.exchange(
                request + "X-Martlet-Master-Key: mm_FAR\r\nX-Forwarded-For: 9.9.9.9, 203.0.113.9\r\n\r\n")
            #expect(near.status == 200)
            let far = try await test.exchange(
                request + "X-Martlet-Master-Key: mm_FAR\r\nX-Forwarded-For: 203.0.113.9, 9.9.9.9\r\n\r\n")
            #expect(far.status == 401)
        }
    }

    @Test func `Browsers of allowed origins get CORS headers, others get none`() async throws {
        try await withGateway(configure: { $0.allowedOrigins = ["https://app.example"] }) { test in
            let allowed = try await test.ask("Notes", ["Origin: https://app.example"])
            #expect(allowed.text.contains("access-control-allow-origin: https://app.example\r\n"))
            #expect(
                allowed.text.contains("access-control-expose-headers: \(Preflight.exposedHeaders)\r\nvary: origin\r\n"))
            let refused = try await test.ask("Notes", ["Origin: https://evil.example"])
            #expect(!refused.text.contains("access-control-allow-origin"))
            let wrong = try await test.exchange(
                TestGateway.request("Notes", ["Origin: https://app.example", "Connection: close"], secret: "x"))
            #expect(wrong.status == 401 && wrong.text.contains("access-control-allow-origin: https://app.example"))
            #expect(wrong.text.contains("access-control-expose-headers: \(Preflight.exposedHeaders)\r\n"))
            let preflight = try await test.exchange(
                "OPTIONS /api/mk_live_A/storage/x HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nOrigin: https://app.example\r\n"
                    + "Access-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: x-martlet-secret\r\n\r\n")
            #expect(preflight.status == 204)
            #expect(preflight.text.contains("access-control-allow-methods: GET, HEAD, POST, PUT, PATCH, DELETE"))
            #expect(preflight.text.contains("access-control-allow-headers: x-martlet-secret"))
            #expect(test.upstream.arrivals.count == 2)
        }
    }

    @Test func `HTTP/1.0 clients are served and closed`() async throws {
        try await withGateway { test in
            let client = try await test.exchange(
                "GET /api/mk_live_A/storage/x HTTP/1.0\r\nX-Martlet-Secret: ms_A\r\n\r\n")
            #expect(client.status == 200 && client.isClosed && client.text.contains("connection: close"))
            let kept = try await test.connect()
            try await kept.send(
                "GET /api/mk_live_A/storage/x HTTP/1.0\r\nX-Martlet-Secret: ms_A\r\nConnection: keep-alive\r\n\r\n")
            await kept.wait(for: "upstream-0")
            #expect(kept.text.contains("connection: keep-alive") && !kept.isClosed)
            await kept.close()
        }
    }

    @Test func `HEAD, 204 and 304 have no body`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("x", method: "HEAD"))
            await client.wait(for: "\r\n\r\n")
            try await client.send(TestGateway.request("y"))
            await client.wait(for: "upstream-0")
            #expect(
                client.text.components(of: "HTTP/1.1 200").count == 3 && client.text.hasSuffix("\r\n\r\nupstream-0"))
            await client.close()
        }
    }

    @Test func `Expect 100-continue is answered once the request is admitted, and not before a refusal`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            let head =
                "POST /api/mk_live_A/storage/echo HTTP/1.1\r\nHost: gw\r\nExpect: 100-continue\r\nContent-Length: 4\r\n"
            try await client.send(head + "X-Martlet-Secret: ms_A\r\n\r\n")
            await client.wait(for: "100 Continue\r\n\r\n")
            try await client.send("body")
            await client.wait(for: "\r\n\r\nbody")
            #expect(client.text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"))
            #expect(test.upstream.arrivals.first?.head.headers.contains(name: "expect") == false)
            let refused = try await test.exchange(head + "X-Martlet-Secret: ms_X\r\n\r\n")
            #expect(refused.status == 401)
            let other = try await test.exchange(head.replacing("100-continue", with: "miracle") + "\r\n")
            #expect(other.status == 417)
            await client.close()
        }
    }
}
