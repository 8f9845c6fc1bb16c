import Foundation
import Testing

@testable import GatewayService

/// The clear-text port beside the TLS port.
@Suite struct RedirectTests {
    private static let token = String(repeating: "aZ09-_", count: 21) + "xy"

    /// Runs with a directory of challenges that has one good file and others that must not be served.
    private func withRedirect(
        configure: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (TestGateway) async throws -> Void
    ) async throws {
        let directory = NSTemporaryDirectory() + "redirect-test-\(UUID().uuidString)"
        let challenges = directory + "/challenges"
        try FileManager.default.createDirectory(atPath: challenges + "/folder", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try makeCertificate(directory, "test")
        for (path, text) in [
            (Self.token, "answer.digest"), (Self.token + "z", "too long a name"), ("with.dot", "x"), ("../secret", "x"),
            ("full", String(repeating: "x", count: 1024)), ("large", String(repeating: "x", count: 1025)),
        ] {
            try text.write(toFile: challenges + "/" + path, atomically: true, encoding: .utf8)
        }
        try FileManager.default.createSymbolicLink(
            atPath: challenges + "/link", withDestinationPath: directory + "/secret")
        mkfifo(challenges + "/pipe", 0o600)
        try await withGateway(
            configure: {
                $0.tls = .init(certificateFile: directory + "/cert.pem", keyFile: directory + "/key.pem")
                $0.redirect = .init(port: 0, publicURL: "https://api.example.org/", challengeDirectory: challenges)
                configure(&$0)
            }, body)
    }

    private func send(_ test: TestGateway, _ line: String, _ headers: [String] = [], body: String = "") async throws
        -> RawClient
    {
        let client = try await RawClient.connect(try #require(test.gateway.boundRedirectPort))
        let lines = ["\(line) HTTP/1.1", "Host: evil.example", "Connection: close"] + headers
        try await client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        await client.waitForClose()
        await client.close()
        return client
    }

    @Test func `Requests are redirected to the public address, whatever the Host header says`() async throws {
        try await withRedirect { test in
            for (line, target) in [
                ("GET /", "/"), ("HEAD /dashboard/?tab=1", "/dashboard/?tab=1"),
                ("OPTIONS /api/mk_live_A/storage/Notes", "/api/mk_live_A/storage/Notes"),
                ("GET /.well-known/acme-challenge", "/.well-known/acme-challenge"),
            ] {
                let answer = try await send(test, line)
                #expect(answer.status == 308, "\(line)")
                #expect(answer.text.contains("\r\nlocation: https://api.example.org\(target)\r\n"), "\(answer.text)")
            }
            let post = try await send(test, "POST /api/mk_live_A/storage/Notes", ["Content-Length: 2"], body: "{}")
            #expect(post.status == 308)
            let split = try await send(test, "GET /?x=%0d%0aSet-Cookie:x")
            #expect(split.status == 400)
            #expect(test.upstream.arrivals.isEmpty)
        }
    }

    @Test func `Credentials in clear text are refused, because a redirect would hide them`() async throws {
        try await withRedirect { test in
            for header in [
                "X-Martlet-Secret: ms_A", "X-Martlet-Master-Key: x", "Authorization: Bearer x", "X-API-Key: x",
                "X-Sentry-Auth: Sentry sentry_key=x",
            ] {
                let answer = try await send(test, "GET /api/mk_live_A/storage/Notes", [header])
                #expect(answer.status == 403 && answer.body.contains("https only"), "\(answer.text)")
            }
            #expect(test.upstream.arrivals.isEmpty)
        }
    }

    @Test func `The file of a challenge is served, and nothing else`() async throws {
        try await withRedirect { test in
            let path = "/.well-known/acme-challenge/"
            let found = try await send(test, "GET \(path)\(Self.token)")
            #expect(found.status == 200 && found.body == "answer.digest", "\(found.text)")
            #expect(found.text.contains("\r\ncontent-type: application/octet-stream\r\n"))
            let full = try await send(test, "GET \(path)full")
            #expect(full.status == 200 && full.body.utf8.count == 1024)
            let head = try await send(test, "HEAD \(path)\(Self.token)")
            #expect(head.status == 200 && head.body.isEmpty && head.text.contains("\r\ncontent-length: 13\r\n"))
            for (name, status) in [
                (Self.token + "z", 404), ("with.dot", 404), ("large", 404), ("link", 404), ("folder", 404),
                ("pipe", 404), ("nothing", 404), ("", 404), ("folder/x", 404), ("%66ull", 404), ("..%2fsecret", 400),
                ("../secret", 400),
            ] {
                let answer = try await send(test, "GET \(path)\(name)")
                #expect(answer.status == status, "\(name): \(answer.text)")
            }
            let post = try await send(test, "POST \(path)full")
            #expect(post.status == 405 && post.text.contains("\r\nallow: GET, HEAD\r\n"))
        }
    }

    @Test func `The port counts under the rate of the client's address and closes with the gateway`() async throws {
        try await withRedirect(configure: { $0.requestsPerAddress = .init(requestsPerSecond: 0.001, burst: 1) }) {
            test in
            let (first, second) = (try await send(test, "GET /"), try await send(test, "GET /"))
            #expect(first.status == 308 && second.status == 429)
            await test.shutDown()
            await eventually { test.gateway.boundRedirectPort == nil }
        }
    }

    @Test(arguments: ["http://api.example.org", "https://", "https://a.example\r\nX: y", ""])
    func `A public address that is not an https address stops the start`(_ url: String) {
        #expect(throws: GatewayConfigurationError.self) {
            try Redirect(GatewayConfiguration.Redirect(port: 80, publicURL: url))
        }
    }
}
