import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import MartletHTTP

/// What a route's declaration enforces before its endpoint runs.
@Suite struct RouteTableTests {
    @Test func `refusals come in the order caller, path, query, body`() async throws {
        let path = "/things/%ff?size=9&nonesuch=1"
        let stranger = try await client(.client).put(path, "{}")
        #expect(stranger.isProblem(.forbidden), "\(stranger)")
        let badPath = try await client(.master).put(path, "{}")
        #expect(badPath.isProblem(.invalidPath, field: "id"), "\(badPath)")
        let badQuery = try await client(.master).put("/things/a?size=9&nonesuch=1", "[")
        #expect(badQuery.isProblem(.invalidParameter, field: "size"), "\(badQuery)")
        let badBody = try await client(.master).put("/things/a?size=3", #"{"x":1}"#)
        #expect(badBody.isProblem(.invalidBody, field: "x"), "\(badBody)")
        #expect(try await client(.master).put("/things/a?size=3", "{}").text == "a")
        #expect(try await client(.master).put("/things/a?size=3", "").text == "a")
    }

    @Test func `a route without a principal is refused before anything else`() async throws {
        #expect(try await client(nil).put("/things/%ff?nonesuch=1", "[").isProblem(.unauthorized))
    }

    @Test(arguments: [
        ("a%2Fb", "a/b"), ("a%2Bb", "a+b"), ("a+b", "a+b"), ("%c3%a9", "é"), ("a%252Fb", "a%2Fb"), ("a%20b", "a b"),
    ]) func `a part of the path is decoded once`(_ part: String, _ expected: String) async throws {
        #expect(try await client(.master).get("/things/\(part)").text == expected)
    }

    @Test(arguments: ["%00", "a%00b", "%ff", "%zz", "%", "%c3"])
    func `a part of the path that is not valid text is refused`(
        _ part: String
    ) async throws {
        let answer = try await client(.master).get("/things/\(part)")
        #expect(answer.isProblem(.invalidPath, field: "id"), "\(answer)")
    }

    @Test func `a path parameter has the name that its own route gives it`() async throws {
        #expect(try await client(.master).get("/things/a").text == "a")
        #expect(try await client(.master).get("/things/a/parts/b%21").text == "thing a, part b!")
    }

    @Test(arguments: [
        ("size=0", false), ("size=1", true), ("size=5", true), ("size=6", false), ("size=x", false), ("size=", false),
        ("size=+1", false), ("kind=big", true), ("kind=BIG", false), ("kind=", false), ("deep=true", true),
        ("deep=1", false), ("since=2026-11-21T08:48:59Z", true), ("since=yesterday", false),
        ("after=0193a000-0000-7000-8000-000000000001", true), ("after=7", false), ("text=%00", true), ("Size=1", false),
        ("size=1&size=9", false),
    ]) func `a query parameter must match its declaration`(_ query: String, _ isAccepted: Bool) async throws {
        let answer = try await client(.master).get("/search?need=1&\(query)")
        #expect((answer.status == 200) == isAccepted, "\(answer)")
        if !isAccepted { #expect(answer.isProblem(.invalidParameter), "\(answer)") }
    }

    @Test func `an integer is read as declared, and the first of several values counts`() async throws {
        #expect(try await client(.master).get("/count").text == "20")
        #expect(try await client(.master).get("/count?limit=7").text == "7")
        #expect(try await client(.master).get("/count?limit=7&limit=9").text == "7")
        let answer = try await client(.master).get("/count?limit=0")
        let detail = "\"Expected a whole number from 1 to 100, found \\\"0\\\".\""
        #expect(answer["detail"] == detail, "\(answer)")
        #expect(
            try await client(.master).get("/count?after=x")["detail"]
                == #""Expected a whole number, found \"x\".""#)
    }

    @Test func `a required query parameter must be present`() async throws {
        #expect(try await client(.master).get("/search").isProblem(.invalidParameter, field: "need"))
        #expect(try await client(.master).get("/search?size=1").isProblem(.invalidParameter, field: "need"))
    }

    @Test func `a route of an open protocol accepts other query parameters`() async throws {
        #expect(try await client(.visitor).get("/open?utm_source=x").status == 200)
    }

    @Test func `a refusal can be expressed in another protocol`() async throws {
        let answer = try await client(.client).get("/foreign")
        #expect(answer.status == 403)
        #expect(answer.text == "no: forbidden")
        #expect(try await client(.client).get("/foreign-fault").isProblem(.forbidden))
    }

    private func client(_ kind: Principal.Kind?) async throws -> ServiceClient {
        let principal = kind.map {
            Principal(kind: $0, appID: "a", appNumber: 1, environment: .live, credentialID: "c")
        }
        return try await ServiceClient(Things()).acting(as: principal)
    }
}

private struct Things: StubService {
    static let name = "things"

    func addRoutes(to routes: inout RouteTable) {
        let id = Say { $0.component("id") }
        routes.on(Route(.get, "/things/{id}", "readThing", "Answers with the id.", callers: .server), id)
        routes.on(
            Route(
                .put, "/things/{id}", "setThing", "Answers with the id.", callers: .server,
                parameters: [.query("size", .integer.range(1, 5))]), id)
        routes.on(
            Route(.get, "/things/{thing}/parts/{part}", "readPart", "Answers with both names.", callers: .server),
            Say { "thing \($0.component("thing")), part \($0.component("part"))" })
        routes.on(
            Route(
                .get, "/search", "search", "Answers.", callers: .server,
                parameters: [
                    .query("need", isRequired: true), .query("size", .integer.range(1, 5)),
                    .query("kind", .oneOf("big", "small")), .query("deep", .boolean), .query("since", .time),
                    .query("after", .uuid), .query("text"),
                ]), Say { _ in "found" })
        routes.on(
            Route(
                .get, "/count", "count", "Answers with the limit.", callers: .server,
                parameters: [
                    .query("limit", .integer.range(1, 100).defaulting(to: 20)), .query("after", .integer),
                ]), Say { (try? $0.integer("limit")).map(String.init) ?? "none" })
        routes.on(
            Route(.get, "/open", "open", "Answers.", callers: .anyone, checksOwnQuery: true),
            Say { _ in "open" })
        routes.on(
            Route(
                .get, "/foreign", "foreign", "Refuses.", callers: .server,
                refusal: { Response.json("no: \($0.code.rawValue)").with(status: .forbidden) }), Say { _ in "" })
        routes.on(
            Route(.get, "/foreign-fault", "foreignFault", "Refuses.", callers: .server, refusal: { _ in nil }),
            Say { _ in "" })
    }

    private struct Say: Endpoint {
        let text: @Sendable (ServiceContext) -> String

        func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
            .json(text(context))
        }
    }
}

extension Response {
    fileprivate func with(status: HTTPResponse.Status) -> Response {
        var copy = self
        copy.status = status
        return copy
    }
}
