import MartletCore
import Testing

@testable import GatewayService

/// Segment's and RudderStack's clients read `code` and `message` of an error.
@Suite struct MessageTests {
    @Test(arguments: [("mi_live_wrong", "", 401), ("mi_live_A", "01234567890", 413)])
    func `on routes whose clients read a message, refusals have one in addition to the code`(
        _ key: String, _ body: String, _ status: Int
    ) async throws {
        try await withGateway { test in
            let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
            let head = "POST /spoken/\(key)/batch HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\(length)\r\n"
            let problem = try JSONValue(parsing: try await test.exchange(head + body).body.utf8)
            #expect(problem["status"] == .number("\(status)"))
            #expect(problem["message"] != nil && problem["message"] == problem["detail"] ?? problem["title"])
        }
    }

    @Test func `errors of the upstreams of these routes have a message as well`() async throws {
        try await withGateway { test in
            await test.upstream.stop()
            let reply = try await test.exchange(
                "POST /spoken/mi_live_A/batch HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n")
            #expect(reply.status == 502 || reply.status == 503)
            #expect(try JSONValue(parsing: reply.body.utf8)["message"] != nil)
        }
    }

    @Test func `problems on other routes have no message`() async throws {
        try await withGateway { test in
            let reply = try await test.exchange(
                "POST /ingest/7/envelope/ HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n")
            #expect(reply.status == 401 && !reply.text.contains("\"message\""))
        }
    }
}
