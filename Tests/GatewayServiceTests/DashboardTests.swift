import Foundation
import Testing

@testable import GatewayService

/// Static files under `/dashboard/`.
@Suite struct DashboardTests {
    private static let script = String(repeating: "console.log(1)\n", count: 20_000)

    /// Runs with a dashboard of a page and a script, beside a file that it must not serve.
    private func withDashboard(_ body: (TestGateway) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "dashboard-test-\(UUID().uuidString)"
        let assets = directory + "/dist/assets"
        try FileManager.default.createDirectory(atPath: assets, withIntermediateDirectories: true)
        for (path, text) in [
            ("secret.txt", "secret"), ("dist/index.html", "<!doctype html>page"), ("dist/index.html.br", "page-br"),
            ("dist/assets/app-1.js", Self.script), ("dist/assets/app-1.js.br", "script-br"),
            ("dist/assets/app-1.js.gz", "script-gz"),
        ] {
            try text.write(toFile: directory + "/" + path, atomically: true, encoding: .utf8)
        }
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await withGateway(configure: { $0.dashboardDirectory = directory + "/dist" }, body)
    }

    private func get(
        _ test: TestGateway, _ path: String, _ headers: [String] = [], method: String = "GET"
    ) async throws -> RawClient {
        let lines = ["\(method) \(path) HTTP/1.1", "Host: gw", "Connection: close"] + headers
        return try await test.exchange(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    private func header(_ name: String, of client: RawClient) -> String? {
        client.text.components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n")
            .first { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    private func body(of client: RawClient) -> String {
        client.text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
    }

    @Test(arguments: ["/dashboard/", "/dashboard/apps/a1/crashes/7", "/dashboard/config/1.2.0?tab=diff"])
    func `Every path of the dashboard is the page, with a policy that allows nothing inline`(_ path: String)
        async throws
    {
        try await withDashboard { test in
            let answer = try await get(test, path)
            #expect(answer.status == 200 && body(of: answer) == "<!doctype html>page")
            #expect(header("content-type", of: answer) == "text/html; charset=utf-8")
            #expect(header("cache-control", of: answer) == "no-cache")
            let policy = try #require(header("content-security-policy", of: answer))
            #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe") && !policy.contains("http"))
            #expect(test.upstream.arrivals.isEmpty)
        }
    }

    @Test func `A file is sent in an encoding that the client accepts, and may be cached for ever`() async throws {
        try await withDashboard { test in
            for (accepted, expected, encoding) in [
                ("gzip, br", "script-br", "br"), ("gzip", "script-gz", "gzip"),
                ("br;q=0, gzip;q=0.5", "script-gz", "gzip"),
                ("identity", Self.script, nil), ("br; q=0", Self.script, nil),
            ] {
                let answer = try await get(test, "/dashboard/assets/app-1.js", ["Accept-Encoding: \(accepted)"])
                #expect(answer.status == 200 && body(of: answer) == expected, "\(accepted)")
                #expect(header("content-encoding", of: answer) == encoding)
                #expect(header("content-type", of: answer) == "text/javascript; charset=utf-8")
                #expect(header("cache-control", of: answer)?.contains("immutable") == true)
                #expect(header("vary", of: answer) == "accept-encoding")
            }
        }
    }

    @Test func `A client that has the page gets 304 for its tag, and the page for another`() async throws {
        try await withDashboard { test in
            let tag = try #require(header("etag", of: try await get(test, "/dashboard/")))
            for (sent, status) in [(tag, 304), ("\"x\", W/\(tag)", 304), ("*", 304), ("\"x\"", 200)] {
                let answer = try await get(test, "/dashboard/", ["If-None-Match: \(sent)"])
                #expect(answer.status == status && body(of: answer).isEmpty == (status == 304), "\(sent)")
            }
            let other = try await get(test, "/dashboard/", ["If-None-Match: \(tag)", "Accept-Encoding: br"])
            #expect(other.status == 200 && body(of: other) == "page-br")
        }
    }

    @Test func `HEAD has the length and no body; other methods are 405`() async throws {
        try await withDashboard { test in
            let head = try await get(test, "/dashboard/assets/app-1.js", method: "HEAD")
            #expect(head.status == 200 && body(of: head).isEmpty)
            #expect(header("content-length", of: head) == "\(Self.script.utf8.count)")
            let post = try await get(test, "/dashboard/", method: "POST")
            #expect(post.status == 405 && header("allow", of: post) == "GET, HEAD")
        }
    }

    @Test(arguments: [
        ("/dashboard/assets/app-2.js", 404), ("/dashboard/assets/", 404), ("/dashboard/assets/app-1.js.br", 404),
        ("/dashboard/assets/../../secret.txt", 400), ("/dashboard/assets/%2e%2e/%2e%2e/secret.txt", 400),
        ("/dashboard/assets/..%2f..%2fsecret.txt", 400), ("/dashboard/secret.txt", 200), ("/dashboards", 404),
        ("/dashboard", 308),
    ])
    func `Only files found at startup are served`(_ path: String, _ status: Int) async throws {
        try await withDashboard { test in
            let answer = try await get(test, path)
            #expect(answer.status == status && !answer.text.contains("\r\n\r\nsecret"), "\(answer.text)")
        }
    }

    @Test func `Without its folder there is no dashboard`() async throws {
        try await withGateway { test in
            let answer = try await get(test, "/dashboard/")
            #expect(answer.status == 404)
        }
    }

    @Test func `The dashboard counts under the rate of the client's address`() async throws {
        let directory = NSTemporaryDirectory() + "dashboard-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory + "/assets", withIntermediateDirectories: true)
        try "page".write(toFile: directory + "/index.html", atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await withGateway(configure: {
            $0.dashboardDirectory = directory
            $0.requestsPerAddress = .init(requestsPerSecond: 0.001, burst: 1)
        }) { test in
            let (first, second) = (try await get(test, "/dashboard/"), try await get(test, "/dashboard/"))
            #expect(first.status == 200 && second.status == 429)
        }
    }

    @Test func `A folder with too much in it stops the start`() throws {
        let directory = NSTemporaryDirectory() + "dashboard-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory + "/assets", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try "page".write(toFile: directory + "/index.html", atomically: true, encoding: .utf8)
        for index in 0...1_000 {
            try "x".write(toFile: directory + "/assets/\(index).js", atomically: true, encoding: .utf8)
        }
        #expect(throws: GatewayConfigurationError.self) { try Dashboard(directory: directory) }
    }
}
