import Foundation
import MartletAPI
import MartletCore
import NIOHTTP1
import Testing

@testable import GatewayService

/// Which credentials give access to which routes, and which principal services get.
@Suite struct CredentialTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var request: String
        var status: Int
        /// `kind/app/environment/credential`.
        var principal: String?

        init(_ name: String, _ line: String, _ headers: [String] = [], _ status: Int, _ principal: String? = nil) {
            testDescription = name
            request =
                ([line + " HTTP/1.1", "Host: gw", "Connection: close"] + headers).joined(separator: "\r\n") + "\r\n\r\n"
            self.status = status
            self.principal = principal
        }

        init(_ name: String, _ line: String, _ status: Int) { self.init(name, line, [], status) }
    }

    static let storage = "GET /api/mk_live_A/storage/Notes"
    static let collections = "DELETE /api/mk_live_A/collections/Notes"
    static let envelope = "POST /ingest/7/envelope/"
    static let flags = "GET /flags"

    static let client = [
        Case("key and secret", storage, ["X-Martlet-Secret: ms_A"], 200, "client/alpha/live/k-live"),
        Case("key and second secret", storage, ["X-Martlet-Secret: ms_A2"], 200, "client/alpha/live/k-live"),
        Case(
            "test key", "GET /api/mk_test_A/storage/Notes", ["X-Martlet-Secret: ms_A"], 200, "client/alpha/test/k-test"),
        Case(
            "live key, test asked for", storage, ["X-Martlet-Secret: ms_A", "X-Martlet-Environment: test"], 200,
            "client/alpha/test/k-live"),
        Case(
            "live key, live asked for", storage, ["X-Martlet-Secret: ms_A", "X-Martlet-Environment: live"], 200,
            "client/alpha/live/k-live"),
        Case(
            "test key never reaches live", "GET /api/mk_test_A/storage/Notes",
            ["X-Martlet-Secret: ms_A", "X-Martlet-Environment: live"], 200,
            "client/alpha/test/k-test"),
        Case("unknown environment", storage, ["X-Martlet-Secret: ms_A", "X-Martlet-Environment: Test"], 400),
        Case("master key instead of a secret", storage, ["X-Martlet-Master-Key: mm_A"], 200, "master/alpha/live/m-1"),
        Case("no secret", storage, 401),
        Case("empty secret", storage, ["X-Martlet-Secret: "], 401),
        Case("wrong secret", storage, ["X-Martlet-Secret: ms_X"], 401),
        Case("other app's secret", storage, ["X-Martlet-Secret: ms_B"], 401),
        Case("expired secret", storage, ["X-Martlet-Secret: ms_OLD"], 401),
        Case("key as secret", storage, ["X-Martlet-Secret: mk_live_A"], 401),
        Case("master key as secret", storage, ["X-Martlet-Secret: mm_A"], 401),
        Case("secret as master key", storage, ["X-Martlet-Master-Key: ms_A"], 401),
        Case("unknown key", "GET /api/mk_live_X/storage/Notes", ["X-Martlet-Secret: ms_A"], 401),
        Case("expired key", "GET /api/mk_live_OLD/storage/Notes", ["X-Martlet-Secret: ms_A"], 401),
        Case("secret as key", "GET /api/ms_A/storage/Notes", ["X-Martlet-Secret: ms_A"], 401),
        Case("encoded key", "GET /api/mk%5flive_A/storage/Notes", ["X-Martlet-Secret: ms_A"], 401),
        Case(
            "wrong secret, unknown environment", storage, ["X-Martlet-Secret: ms_X", "X-Martlet-Environment: x"], 401),
    ]

    static let master = [
        Case("master", collections, ["X-Martlet-Master-Key: mm_A"], 200, "master/alpha/live/m-1"),
        Case(
            "master, test", collections, ["X-Martlet-Master-Key: mm_A", "X-Martlet-Environment: test"], 200,
            "master/alpha/test/m-1"),
        Case(
            "master with test key", "GET /api/mk_test_A/collections/x", ["X-Martlet-Master-Key: mm_A"], 200,
            "master/alpha/test/m-1"),
        Case("plain secret", collections, ["X-Martlet-Secret: ms_A"], 403),
        Case(
            "master key on a user's behalf", storage, ["X-Martlet-Master-Key: mm_A", "X-Martlet-User: ada"], 200,
            "client/alpha/live/m-1"),
        Case("secret on a user's behalf", storage, ["X-Martlet-Secret: ms_A", "X-Martlet-User: ada"], 401),
        Case(
            "wrong master key on a user's behalf", storage, ["X-Martlet-Master-Key: mm_X", "X-Martlet-User: ada"], 401),
        Case(
            "management route on a user's behalf", collections, ["X-Martlet-Master-Key: mm_A", "X-Martlet-User: ada"],
            403),
        Case(
            "user name that looks like a role", storage, ["X-Martlet-Master-Key: mm_A", "X-Martlet-User: role:x"], 400),
        Case("empty user name", storage, ["X-Martlet-Master-Key: mm_A", "X-Martlet-User: "], 400),
        Case("wrong master key", collections, ["X-Martlet-Master-Key: mm_X"], 401),
        Case(
            "wrong master key, good secret", collections, ["X-Martlet-Master-Key: mm_X", "X-Martlet-Secret: ms_A"], 401),
        Case("other app's master key", collections, ["X-Martlet-Master-Key: mm_B"], 401),
        Case("from another network", collections, ["X-Martlet-Master-Key: mm_FAR"], 401),
        Case("forged address", collections, ["X-Martlet-Master-Key: mm_FAR", "X-Forwarded-For: 203.0.113.9"], 401),
        Case("no credential", collections, 401),
    ]

    static func basic(_ text: String) -> String { "Authorization: Basic " + Data(text.utf8).base64EncodedString() }

    static let otherRoutes = [
        Case("ingest, Basic user", envelope, [basic("mi_live_A:")], 200, "ingest/alpha/live/i-1"),
        Case(
            "ingest, X-Sentry-Auth", envelope, ["X-Sentry-Auth: Sentry sentry_version=7, sentry_key=mi_live_A"], 200,
            "ingest/alpha/live/i-1"),
        Case("ingest, query", envelope + "?a=1&sentry_key=mi_live_A", [], 200, "ingest/alpha/live/i-1"),
        Case("ingest, other project", "POST /ingest/8/envelope/", [basic("mi_live_A:")], 401),
        Case("ingest, project is not a number", "POST /ingest/x/envelope/", [basic("mi_live_A:")], 401),
        Case("ingest, client key", envelope, [basic("mk_live_A:")], 401),
        Case("ingest, bad base64", envelope, ["Authorization: Basic %%%"], 401),
        Case("ingest, no credential", envelope, 401),
        Case("ingest, key in the path", "GET /projects/mi_live_A/settings", [], 200, "ingest/alpha/live/i-1"),
        Case("ingest, wrong key in the path", "GET /projects/mi_live_X/settings", [basic("mi_live_A:")], 401),
        Case("ingest, client key in the path", "GET /projects/mk_live_A/settings", 401),
        Case("master as bearer", "GET /tool/x", ["Authorization: Bearer mm_A"], 200, "master/alpha/live/m-1"),
        Case(
            "master as bearer, test", "GET /tool/x", ["Authorization: bearer mm_A", "X-Martlet-Environment: test"], 200,
            "master/alpha/test/m-1"),
        Case("master as bearer from another network", "GET /tool/x", ["Authorization: Bearer mm_FAR"], 401),
        Case("master not as bearer", "GET /tool/x", ["X-Martlet-Master-Key: mm_A"], 401),
        Case("master as Basic user", "GET /tool/x", [basic("mm_A:")], 401),
        Case("secret as bearer", "GET /tool/x", ["Authorization: Bearer ms_A"], 401),
        Case("empty bearer token", "GET /tool/x", ["Authorization: Bearer "], 401),
        Case("evaluation, bearer", flags, ["Authorization: Bearer me_test_A"], 200, "evaluation/alpha/test/e-1"),
        Case("evaluation, X-API-Key", flags, ["X-API-Key: me_test_A"], 200, "evaluation/alpha/test/e-1"),
        Case(
            "evaluation, live asked for", flags, ["X-API-Key: me_test_A", "X-Martlet-Environment: live"], 200,
            "evaluation/alpha/test/e-1"),
        Case("evaluation, ingest key", flags, ["X-API-Key: mi_live_A"], 401),
        Case("evaluation, no credential", flags, 401),
        Case("link, key alone", "GET /api/mk_live_A/link/x", [], 200, "link/alpha/live/k-live"),
        Case(
            "link, secrets are ignored", "GET /api/mk_live_A/link/x", ["X-Martlet-Master-Key: mm_A"], 200,
            "link/alpha/live/k-live"),
        Case(
            "link, test key", "GET /api/mk_test_A/link/x", ["X-Martlet-Environment: live"], 200,
            "link/alpha/test/k-test"),
        Case("link, unknown key", "GET /api/mk_live_X/link/x", 401),
        Case("link, expired key", "GET /api/mk_live_OLD/link/x", 401),
        Case("link, secret as key", "GET /api/ms_A/link/x", 401),
        Case("link, a method other than GET", "DELETE /api/mk_live_A/link/x", 405),
        Case("public", "GET /public/x", [], 200, "visitor//live/"),
        Case(
            "public, keys are ignored", "GET /public/x",
            ["X-Martlet-Master-Key: mm_A", "X-Martlet-Environment: test"], 200, "visitor//live/"),
        Case("unknown path", "GET /api/mk_live_A/other", ["X-Martlet-Secret: ms_A"], 404),
        Case("root", "GET /", 404),
        Case("path without its last segment", "GET /api/mk_live_A/storage/", ["X-Martlet-Secret: ms_A"], 404),
        Case("method not allowed", "OPTIONS /api/mk_live_A/storage/x", ["X-Martlet-Secret: ms_A"], 405),
        Case("TRACE", "TRACE /api/mk_live_A/storage/x", ["X-Martlet-Secret: ms_A"], 405),
    ]

    @Test func `Each credential gives access to its own routes, and the principal identifies the caller`() async throws
    {
        try await withGateway { test in
            let signer = PrincipalSigner(internalSecret: TestKeys.internalSecret)
            for item in Self.client + Self.master + Self.otherRoutes {
                let before = test.upstream.arrivals.count
                let client = try await test.exchange(item.request)
                #expect(client.status == item.status, "\(item.testDescription): \(client.text)")
                let arrivals = test.upstream.arrivals.dropFirst(before)
                #expect(arrivals.count == (item.status == 200 ? 1 : 0), "\(item.testDescription)")
                let header = arrivals.first?.head.headers.first(name: HeaderName.principal)
                let found = header.flatMap { signer.principal(from: $0, at: Date())?.principal }
                let text = found.map { "\($0.kind.rawValue)/\($0.appID)/\($0.environment.rawValue)/\($0.credentialID)" }
                #expect(text == item.principal, "\(item.testDescription)")
            }
        }
    }

    @Test func `Every invalid credential gets the same answer`() async throws {
        try await withGateway { test in
            var answers = Set<String>()
            for item in (Self.client + Self.master).filter({ $0.status == 401 }) {
                let client = try await test.exchange(
                    item.request.replacing("Host: gw", with: "Host: gw\r\nX-Request-Id: same"))
                answers.insert(client.text)
            }
            #expect(answers.count == 1, "\(answers)")
        }
    }

    @Test func `Credentials are checked on each request of a connection`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            for (secret, status) in [
                ("ms_A", 200), ("ms_A", 200), ("ms_X", 401), ("ms_A", 200), ("", 401), ("ms_B", 401),
            ] {
                let before = client.text.components(of: "HTTP/1.1 ").count
                try await client.send(TestGateway.request("Notes", secret: secret))
                await eventually {
                    client.text.components(of: "HTTP/1.1 ").count == before + 1
                        && client.text.components(of: "\r\n\r\n").count > before
                }
                #expect(client.text.components(of: "HTTP/1.1 ").last?.prefix(3) == "\(status)")
            }
            await client.close()
        }
    }
}
