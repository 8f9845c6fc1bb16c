import CoreMetrics
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import MartletHTTP

@Suite struct ServiceProcessTests {
    @Test(arguments: [
        ("problem", ErrorCode.conflict), ("teapot", .malformedRequest), ("toolarge", .payloadTooLarge),
        ("media", .unsupportedMediaType),
        ("cancelled", .unavailable), ("unavailable", .unavailable), ("timeout", .unavailable),
        ("fault", .internalError), ("unknown", .internalError),
        ("servererror", .internalError), ("absent", .notFound),
    ]) func `every error becomes a problem response with a registered code`(_ path: String, _ code: ErrorCode)
        async throws
    {
        let answer = try await client().get("/fail/\(path)")
        #expect(answer.isProblem(code), "\(answer)")
        #expect(!answer.text.contains("sekrit"))
        #expect((answer.header("retry-after") != nil) == (code == .unavailable || path == "problem"))
    }

    @Test func `a problem has detail, field and headers, and hides its cause`() async throws {
        let answer = try await client().get("/fail/problem")
        #expect(answer.isProblem(.conflict, field: "name"))
        #expect(answer["detail"] == #""a/b \"c\"""#)
        #expect(answer.header("retry-after") == "7")
        #expect(answer.header("allow") == "GET")
    }

    @Test func `an unknown method is distinguished from an unknown path`() async throws {
        let answer = try await client().post("/whoami")
        #expect(answer.isProblem(.methodNotAllowed), "\(answer)")
        #expect(answer.header("allow") == "GET, HEAD")
        #expect(try await client().post("/nowhere").isProblem(.notFound))
    }

    @Test(arguments: [nil, "", "x", "x.y", "a.b.c"]) func `without the gateway's header every request is refused`(
        _ header: String?
    ) async throws {
        let router = ServiceProcess.makeRouter(Failing(), signer: ServiceClient.signer)
        try await Application(router: router, logger: .silent).test(.router) { client in
            var headers: HTTPFields = [:]
            headers[HTTPField.Name(HeaderName.principal)!] = header
            let response = try await client.execute(uri: "/whoami", method: .get, headers: headers)
            #expect(response.status == .unauthorized)
            #expect(String(buffer: response.body).contains(#""code":"unauthorized""#))
        }
    }

    @Test func `a stale header, and one signed with another secret, are refused`() async throws {
        let router = ServiceProcess.makeRouter(Failing(), signer: ServiceClient.signer)
        let stale = try ServiceClient.signer.header(for: .service("x"), at: Date(timeIntervalSinceNow: -100))
        let other = try PrincipalSigner(internalSecret: Secret("another")).header(for: .service("x"), at: Date())
        try await Application(router: router, logger: .silent).test(.router) { client in
            for header in [stale, other] {
                let response = try await client.execute(
                    uri: "/whoami", method: .get, headers: [HTTPField.Name(HeaderName.principal)!: header])
                #expect(response.status == .unauthorized)
            }
        }
    }

    @Test func `the endpoint gets the principal`() async throws {
        #expect(try await client().get("/whoami").text == "gateway")
    }

    @Test(arguments: [(true, 200), (false, 503)]) func `readiness needs no principal`(_ isReady: Bool, _ status: Int)
        async throws
    {
        let client = try await ServiceClient(Failing(ready: isReady))
        let answer = try await client.get("/health/ready")
        #expect(answer.status == status && answer.header(HeaderName.version) == MartletVersion.current)
    }

    @Test(
        arguments: [
            ("{}", ErrorCode.invalidBody, "name"), (#"{"name":5}"#, .invalidBody, "name"),
            (#"{"name":"x","inner":{"n":"1"}}"#, .invalidBody, "inner.n"),
            ("", .invalidJSON, nil), ("{", .invalidJSON, nil),
            (#"{"name":"\#(String(repeating: "x", count: 64 << 10))"}"#, .payloadTooLarge, nil),
        ] as [(String, ErrorCode, String?)]) func `an invalid management body is refused by field`(
            _ body: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let answer = try await client().post("/decode", body)
        #expect(answer.isProblem(code, field: field), "\(answer)")
    }

    @Test func `the internal port serves liveness, readiness and metrics`() async throws {
        let registry = MetricsRegistry()
        registry.makeCounter(label: "seen", dimensions: []).increment(by: 3)
        let server = InternalServer.make(host: "127.0.0.1", port: 0, metrics: registry, logger: .silent) { false }
        try await server.test(.router) { client in
            #expect(try await client.execute(uri: "/health/live", method: .get).status == .ok)
            #expect(try await client.execute(uri: "/health/ready", method: .get).status == .serviceUnavailable)
            let metrics = try await client.execute(uri: "/metrics", method: .get)
            #expect(metrics.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(String(buffer: metrics.body).contains("seen_total 3\n"))
        }
    }

    private func client() async throws -> ServiceClient {
        try await ServiceClient(Failing()).acting(as: .service("gateway"))
    }
}

/// A service that fails in every possible way.
private struct Failing: StubService {
    static let name = "failing"

    var ready = true

    func isReady() async -> Bool { ready }

    func addRoutes(to routes: inout RouteTable) {
        routes.on(.get, "/fail/{how}", Fail())
        routes.get("/whoami") { _, context in try context.principal.credentialID }
        routes.on(.post, "/decode", Decode())
    }

    private struct Fail: Endpoint {
        func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
            switch context.parameters.get("how") {
            case "problem":
                throw ErrorWithHeaders(
                    ServiceError(.conflict, "a/b \"c\"", field: "name", cause: "sekrit", retryAfter: 7),
                    [.allow: "GET"])
            case "teapot": throw HTTPError(.init(code: 418), message: "sekrit")
            case "toolarge": throw HTTPError(.contentTooLarge)
            case "media": throw HTTPError(.unsupportedMediaType)
            case "servererror": throw HTTPError(.badGateway, message: "sekrit")
            case "cancelled": throw CancellationError()
            case "unavailable": throw Trouble(condition: .unavailable)
            case "timeout": throw Trouble(condition: .timeout)
            case "fault": throw Trouble(condition: .fault)
            case "absent": throw HTTPError(.notFound)
            default: throw Unknown()
            }
        }
    }

    private struct Decode: Endpoint {
        struct Inner: Decodable { var n: Int }
        struct Body: Decodable {
            var name: String
            var inner: Inner?
        }

        func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
            _ = try await request.decoded(Body.self)
            return Response(status: .noContent)
        }
    }

    private struct Trouble: DependencyError {
        var condition: DependencyCondition
        var description: String { "sekrit" }
    }

    private struct Unknown: Error, CustomStringConvertible {
        var description: String { "sekrit" }
    }
}
