import MartletAPI
import NIOCore
import Testing

@testable import GatewayService

/// 304 responses that the gateway repeats by itself (`NotModifiedCache`).
@Suite struct NotModifiedCacheTests {
    private static let routes = testRoutes.replacing(
        #""maximumBodyBytes": 200000000, "timeoutSeconds": 30"#,
        with: #""maximumBodyBytes": 200000000, "timeoutSeconds": 30, "generations": "/generations""#)
    private static let ask = ["If-None-Match: \"v7\""]

    private func withGenerations(_ body: (TestGateway) async throws -> Void) async throws {
        try await withGateway(routes: Self.routes, configure: { $0.eventLoopThreads = 1 }) { test in
            test.upstream.generation = 7
            // The feed is retried after a while, because it was unavailable at the start.
            let isKnown = await eventually(within: .seconds(120)) {
                _ = try? await test.ask("unchanged", Self.ask)
                let before = test.upstream.arrivals.count
                _ = try? await test.ask("unchanged", Self.ask)
                return test.upstream.arrivals.count == before
            }
            try #require(isKnown)
            try await body(test)
        }
    }

    private func forwards(_ test: TestGateway, _ path: String = "unchanged", _ headers: [String] = ask) async throws
        -> Bool
    {
        let before = test.upstream.arrivals.count
        _ = try await test.ask(path, headers)
        return test.upstream.arrivals.count > before
    }

    @Test func `a response is repeated unchanged`() async throws {
        try await withGenerations { test in
            let before = test.upstream.arrivals.count
            let answer = try await test.ask("unchanged", Self.ask)
            #expect(test.upstream.arrivals.count == before)
            let text = answer.text.lowercased()
            #expect(text.hasPrefix("http/1.1 304 not modified\r\n"), "\(text)")
            #expect(
                text.contains("etag: \"v7\"\r\n") && text.contains("cache-control: private, no-cache\r\n")
                    && text.contains("x-request-id: "), "\(text)")
            #expect(
                !text.contains("x-martlet-") && !text.contains("x-drop") && !text.contains("content-length"), "\(text)")
            #expect(try await !forwards(test, "unchanged", Self.ask + ["X-Whatever: 1"]))
        }
    }

    @Test func `different requests are passed on`() async throws {
        try await withGenerations { (test: TestGateway) async throws in
            #expect(try await forwards(test, "unchanged", []))
            #expect(try await forwards(test, "unchanged", ["If-None-Match: \"v6\""]))
            #expect(try await forwards(test, "unchanged?language=de"))
            #expect(try await forwards(test, "unchanged", Self.ask + ["X-Martlet-Environment: test"]))
            #expect(try await forwards(test, "other"))
            // Responses that the upstream did not mark are never repeated.
            for _ in 0..<3 { #expect(try await forwards(test, "status/304")) }
        }
    }

    /// A service may read two lines as one list, so its response must not be repeated to clients that send only the
    /// first one.
    @Test func `a response to several If-None-Match lines is not repeated to requests with one line`() async throws {
        try await withGenerations { (test: TestGateway) async throws in
            for _ in 0..<3 {
                #expect(try await forwards(test, "unchanged", ["If-None-Match: \"old\"", "If-None-Match: \"v7\""]))
            }
            #expect(try await forwards(test, "unchanged", ["If-None-Match: \"old\""]))
        }
    }

    @Test func `header names are in lower case for HTTP/2`() async throws {
        try await withGenerations { test in
            let text = try await test.ask("unchanged", Self.ask).text
            #expect(text.contains("\r\netag: ") && !text.contains("ETag"), "\(text)")
        }
    }

    @Test func `a publication invalidates all responses`() async throws {
        try await withGenerations { test in
            test.upstream.generation = 8
            #expect(await eventually(within: .seconds(120)) { (try? await forwards(test)) == true })
            // The response belongs to the new generation, and is valid again.
            #expect(await eventually(within: .seconds(120)) { (try? await forwards(test)) == false })
        }
    }

    @Test func `without the feed no response is valid`() async throws {
        try await withGenerations { (test: TestGateway) async throws in
            test.upstream.generation = nil
            test.upstream.closeConnections()
            #expect(await eventually(within: .seconds(120)) { (try? await forwards(test)) == true })
            #expect(try await forwards(test))
            test.upstream.generation = 7
            #expect(await eventually(within: .seconds(120)) { (try? await forwards(test)) == false })
        }
    }

    @Test func `credentials are checked first`() async throws {
        try await withGenerations { test in
            let before = test.upstream.arrivals.count
            let wrong = try await test.exchange(
                TestGateway.request("unchanged", Self.ask + ["Connection: close"], secret: "wrong"))
            #expect(wrong.text.hasPrefix("HTTP/1.1 401"))
            test.auth.publish { $0.apps[0].credentials.removeAll() }
            #expect(
                await eventually(within: .seconds(120)) {
                    (try? await test.ask("unchanged", Self.ask))?.text.hasPrefix("HTTP/1.1 401") == true
                })
            #expect(test.upstream.arrivals.count == before)
        }
    }
}
