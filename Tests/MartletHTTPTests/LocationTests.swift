import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import MartletHTTP

@Suite struct LocationTests {
    @Test(arguments: [
        ("/storage/Notes", "/storage/Notes/1", "Notes/1"), ("/storage/Notes/", "/storage/Notes/1", "1"),
        ("/auth/signup", "/auth/me", "me"),
        ("/auth/login/mail/confirm", "/auth/me", "../../me"),
        ("/admin/apps/a/keys/k/rotate", "/admin/apps/a/keys/n", "../n"),
        ("/storage/all/Notes", "/storage/Notes", "../Notes"), ("/upload-link/a/b", "/link/t/a/b", "../../link/t/a/b"),
        ("/a", "/a", "a"),
        ("/a/b", "/c", "../c"), ("/sprints", "/sprints/a:b", "sprints/a:b"), ("/x", "/a:b", "./a:b"),
        ("/upload", "/upload/", "upload/"),
    ]) func `A reference leads from one path to another (RFC 3986 §5.2)`(
        _ path: String, _ target: String, _ reference: String
    ) throws {
        #expect(RelativeReference.from(path, to: target) == reference)
    }

    @Test(arguments: [
        ("POST", "/things", #"{"_id":"a","id":"b"}"#, "things/a"),
        ("POST", "/things", #"{"id":"b","_id":"a"}"#, "things/a"),
        ("POST", "/things", #"{"number":12,"inner":{"id":"no"},"list":[{"id":"no"}]}"#, "things/12"),
        ("POST", "/things", #"{"name":"a b/ü"}"#, "things/a%20b%2F%C3%BC"),
        ("POST", "/things/", #"{"id":"b"}"#, "b"), ("POST", "/things", #"{"id":null,"x":1}"#, "things"),
        ("POST", "/things", "[]", "things"),
        ("POST", "/things", #"{"id":{"_id":"x"}}"#, "things"), ("PUT", "/things/x%20y", #"{"id":"b"}"#, "x%20y"),
        ("PATCH", "/things/x", "{}", "x"),
        ("POST", "/things", #"{"broken"#, "things"),
    ]) func `Every 201 has a Location`(
        _ method: String, _ path: String, _ body: String, _ location: String
    ) async throws {
        let client = try await ServiceClient(Making()).acting(as: .service("gateway"))
        let answer = try await client.send(method, path, body)
        #expect(answer.status == 201 && answer.header("location") == location && answer.text == body)
    }

    @Test(arguments: [("/named/absolute/x", "../../things/7"), ("/named/relative", "elsewhere/7")])
    func `Location leads to the new resource`(_ path: String, _ location: String) async throws {
        let client = try await ServiceClient(Making()).acting(as: .service("gateway"))
        #expect(try await client.send("POST", path, "{}").header("location") == location)
    }

    @Test func `No other response gets a Location`() async throws {
        let client = try await ServiceClient(Making()).acting(as: .service("gateway"))
        #expect(try await client.get("/things").header("location") == nil)
    }
}

/// A service that answers 201 with the body it was sent.
private struct Making: StubService {
    static let name = "making"

    func addRoutes(to routes: inout RouteTable) {
        for (method, path) in [(HTTPRequest.Method.post, "/things"), (.put, "/things/{id}"), (.patch, "/things/{id}")]
            as [(HTTPRequest.Method, String)]
        {
            routes.on(method, path) { request, _ in
                Response.json(try await request.wholeBody(upTo: 10_000), status: .created)
            }
        }
        routes.get("/things") { _, _ in Response.json(#"{"id":"a"}"#) }
        routes.post("/named/absolute/{x}") { _, _ in Self.made(at: "/things/7") }
        routes.post("/named/relative") { _, _ in Self.made(at: "elsewhere/7") }
    }

    private static func made(at location: String) -> Response {
        Response(status: .created, headers: [.location: location])
    }
}
