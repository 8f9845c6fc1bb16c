import Foundation
import Testing

@testable import MartletKit

struct RetryTests {
    @Test func `a read is repeated after a lost connection with growing random waits`() async throws {
        let waits = Locked<[TimeInterval]>([])
        let transport = ScriptedTransport { _, number in
            if number < 3 { throw MartletError(.connectionLost, "") }
            return HTTPResponse(200, ["ok": true])
        }
        let martlet = try Martlet.scripted(transport, waits: waits)
        #expect(try await martlet.api.json(APIRequest("GET", "storage/A")) == ["ok": true])
        #expect(waits.withLock { $0 } == [0.2, 0.4, 0.8])
    }

    @Test func `after the last attempt the error is thrown`() async throws {
        let transport = ScriptedTransport { _, _ in throw MartletError(.timedOut, "") }
        let martlet = try Martlet.scripted(transport)
        await #expect { try await martlet.api.send(APIRequest("GET", "a")) } throws: {
            ($0 as? MartletError)?.code == .timedOut
        }
        #expect(transport.sent.count == 4)
    }

    @Test func `a write to storage is repeated with the same key`() async throws {
        let transport = ScriptedTransport { _, number in
            number == 0 ? .problem(502, "upstream-failed") : HTTPResponse(201, [:])
        }
        let martlet = try Martlet.scripted(transport)
        try await martlet.api.send(.write("POST", "storage/A", json: [:]))
        let keys = transport.sent.map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    @Test(arguments: [
        (502, "upstream-failed", 1), (504, "upstream-timeout", 1), (500, "internal-error", 1), (503, "unavailable", 4),
        (429, "too-many-requests", 4), (400, "invalid-body", 1), (404, "not-found", 1), (409, "conflict", 1),
    ])
    func `other writes are repeated only if they had no effect`(status: Int, code: String, times: Int) async throws {
        let transport = ScriptedTransport { _, _ in .problem(status, code) }
        let martlet = try Martlet.scripted(transport)
        await #expect { try await martlet.api.send(APIRequest("POST", "auth/signup", json: [:])) } throws: {
            ($0 as? MartletError)?.code.rawValue == code
        }
        #expect(transport.sent.count == times)
    }

    @Test func `the server determines how long to wait, within limits`() async throws {
        let waits = Locked<[TimeInterval]>([])
        let transport = ScriptedTransport { _, number in
            .problem(429, "too-many-requests", ["Retry-After": number == 0 ? "3" : "300"])
        }
        let martlet = try Martlet.scripted(transport, waits: waits)
        await #expect { try await martlet.api.send(APIRequest("GET", "a")) } throws: {
            ($0 as? MartletError)?.retryAfter == 300
        }
        #expect(waits.withLock { $0 } == [3.2])
    }

    @Test func `a cancelled call ends at once`() async throws {
        let transport = ScriptedTransport { _, _ in
            try await Task.sleep(nanoseconds: 60_000_000_000)
            return HTTPResponse(200, [:])
        }
        let martlet = try Martlet.scripted(transport)
        let task = Task { try await martlet.api.send(APIRequest("GET", "a")) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a response that is not a problem document keeps its status`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 418, body: Data("<html>".utf8)) }
        let martlet = try Martlet.scripted(transport)
        await #expect { try await martlet.api.send(APIRequest("GET", "a")) } throws: {
            ($0 as? MartletError)?.code.rawValue == "http-418" && ($0 as? MartletError)?.status == 418
        }
    }

    @Test func `parts of a path and query are escaped`() throws {
        var request = APIRequest("GET", "storage/A/" + APIRequest.escape("a/../b?c#d é%"))
        request.query = [("where", #"{"a":"1&2 + 3"}"#)]
        let base = try #require(URL(string: "http://x.test/"))
        let url = try #require(request.url(under: base, appKey: "k"))
        #expect(
            url.absoluteString == "http://x.test/api/k/storage/A/a%2F..%2Fb%3Fc%23d%20%C3%A9%25?"
                + "where=%7B%22a%22%3A%221%262%20%2B%203%22%7D")
    }
}
