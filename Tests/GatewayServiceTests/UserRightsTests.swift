import Crypto
import Foundation
import MartletAPI
import MartletCore
import NIOHTTP1
import Testing

@testable import GatewayService

/// The rights of a request that names a user in addition to another credential, on every route of
/// `gateway/routes.json`.
@Suite struct UserRightsTests {
    private static let key = P256.Signing.PrivateKey()
    private static let file =
        #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/gateway/routes.json"

    /// Headers of a request, and the result on each kind of route: the kind and user of the principal, or the code of
    /// the refusal.
    private struct Case {
        var name: String
        var headers: [String]
        /// Routes open to clients with a secret, routes that need a master key, and routes for signing in, which ignore
        /// tokens.
        var client: String
        var master: String
        var signIn: String
        /// What all other routes answer, by their credential.
        var others: [RouteCredential: String] = [:]

        init(
            _ name: String, _ headers: [String], client: String, master: String, signIn: String,
            _ others: [RouteCredential: String] = [:]
        ) {
            self.name = name
            self.headers = headers
            self.client = client
            self.master = master
            self.signIn = signIn
            self.others = others
        }

        func expected(of route: RouteFile.Entry) -> String {
            let ignores = route.ignoresToken == true
            return switch route.credential {
            case .client: ignores ? signIn : client
            case .master: master
            case .none: "visitor"
            case .link: others[.link] ?? (client == "invalid-token" ? client : "link")
            case .staff: ignores ? others[.none] ?? "staff" : others[.staff] ?? "invalid-token"
            // The key in the path counts.
            case .ingest where route.path.contains("{ingestKey}"): "unauthorized"
            case .ingest, .evaluation, .masterBearer: others[route.credential] ?? "unauthorized"
            }
        }
    }

    private static func token(app: String = "alpha", age: TimeInterval = 0) throws -> String {
        try AccessTokenSigner(keyID: "k1", privateKey: key.rawRepresentation).sign(
            AccessToken(
                appID: app, environment: .live, userID: "ada", sessionID: "s-1",
                issued: Date(timeIntervalSinceNow: -age)))
    }

    private static func cases() throws -> [Case] {
        let (secret, master, user) = ("X-Martlet-Secret: ms_A", "X-Martlet-Master-Key: mm_A", "X-Martlet-User: eve")
        func bearer(_ text: String) -> String { "Authorization: Bearer \(text)" }
        let good = bearer(try token())
        let malformed: [RouteCredential: String] = [.none: "invalid-token"]
        // Naming a user is refused wherever no one acts for users.
        let named: [RouteCredential: String] = [.link: "unauthorized", .none: "unauthorized", .staff: "invalid-token"]
        let basic = CredentialTests.basic("mi_live_A:")
        return [
            Case("secret", [secret], client: "client", master: "forbidden", signIn: "client"),
            Case("secret, token", [secret, good], client: "client ada", master: "forbidden", signIn: "client"),
            Case("master key", [master], client: "master", master: "master", signIn: "master"),
            Case("master key, token", [master, good], client: "client ada", master: "forbidden", signIn: "master"),
            Case(
                "master key, user", [master, user], client: "client eve", master: "forbidden", signIn: "client eve",
                named),
            Case(
                "secret, user", [secret, user], client: "unauthorized", master: "unauthorized", signIn: "unauthorized",
                named),
            Case(
                "master key, user and token", [master, user, good], client: "invalid-token", master: "invalid-token",
                signIn: "client eve",
                [.link: "unauthorized", .none: "unauthorized", .staff: "unauthorized"]),
            Case(
                "token alone", [good], client: "unauthorized", master: "unauthorized", signIn: "unauthorized",
                [.link: "link"]),
            Case(
                "master key as token", [bearer("mm_A")], client: "invalid-token", master: "invalid-token",
                signIn: "invalid-token",
                [.masterBearer: "master", .none: "invalid-token"]),
            Case(
                "master key as token, user", [bearer("mm_A"), user], client: "invalid-token", master: "invalid-token",
                signIn: "invalid-token",
                [.masterBearer: "forbidden", .none: "invalid-token"]),
            Case(
                "evaluation key as token", [bearer("me_test_A")], client: "invalid-token", master: "invalid-token",
                signIn: "invalid-token",
                [.evaluation: "evaluation", .none: "invalid-token"]),
            Case(
                "Basic beside a master key", [master, basic], client: "master", master: "master", signIn: "master",
                [.ingest: "ingest"]),
            Case(
                "Basic beside a secret", [secret, basic], client: "client", master: "forbidden", signIn: "client",
                [.ingest: "ingest"]),
            Case(
                "Basic and user", [basic, user], client: "unauthorized", master: "unauthorized", signIn: "unauthorized",
                named),
            // Expired tokens grant nothing, but may be sent when signing in.
            Case(
                "master key, expired token", [master, bearer(try token(age: 901))], client: "invalid-token",
                master: "invalid-token", signIn: "master",
                [.link: "link"]),
            Case(
                "master key, another app's token", [master, bearer(try token(app: "beta"))], client: "invalid-token",
                master: "invalid-token",
                signIn: "master", [.link: "link"]),
            Case(
                "secret, expired token", [secret, bearer(try token(age: 901))], client: "invalid-token",
                master: "invalid-token", signIn: "client",
                [.link: "link"]),
        ]
            + [
                "Bearer null", "Bearer", "Bearer a.b", "Bearer a..c", "Bearer a.b.c.d", "Bearer a.b.c d", "bearer x",
                "null", "Token x",
                String(good.dropFirst("Authorization: Bearer ".count)),
                "Bearer " + String(repeating: "a", count: 2_045) + ".b.c",
            ].flatMap { text in
                [master, secret].map { key in
                    Case(
                        "\(key), \(text.prefix(20))", [key, "Authorization: \(text)"], client: "invalid-token",
                        master: "invalid-token",
                        signIn: "invalid-token", malformed)
                }
            }
    }

    private static func path(_ entry: RouteFile.Entry) -> String {
        let values = ["{appKey}": "mk_live_A", "{app}": "alpha", "{project}": "7", "{ingestKey}": "mi_none"]
        return entry.path.split(separator: "/", omittingEmptySubsequences: false)
            .map { part in part == "**" ? "x" : part.hasPrefix("{") ? values[String(part)] ?? "x" : String(part) }
            .joined(separator: "/")
    }

    @Test
    func `A token grants its user's rights on every route, and a malformed token is refused on every route`()
        async throws
    {
        let routes = try RouteFile.read(Self.file).routes
        let cases = try Self.cases()
        try await withGateway(
            routes: String(decoding: try JSONEncoder().encode(RouteFile(routes: routes)), as: UTF8.self),
            configure: { configuration in
                let addresses = configuration.upstreams["storage"]
                for name in Set(routes.map(\.upstream)) { configuration.upstreams[name] = addresses }
            }
        ) { test in
            test.auth.publish {
                $0.signingKeys = [
                    .init(id: "k1", publicKey: Base64URL.encode(Self.key.publicKey.x963Representation), expires: nil)
                ]
            }
            let ready = TestGateway.request(
                "Notes", ["Authorization: Bearer \(try Self.token())", "Connection: close"])
            await test.eventuallyInEveryLoop { try await test.exchange(ready).status == 200 }
            for (number, route) in routes.enumerated() {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (index, item) in cases.enumerated() {
                        group.addTask { try await Self.check(item, at: route, id: "request-\(number)-\(index)", test) }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    private static func check(_ item: Case, at route: RouteFile.Entry, id: String, _ test: TestGateway) async throws {
        // A response to HEAD has no code to check.
        let method = route.methods.first { $0 != "HEAD" } ?? "GET"
        let lines =
            ["\(method) \(path(route)) HTTP/1.1", "Host: gw", "Connection: close", "X-Request-Id: \(id)"] + item.headers
        let client = try await test.exchange(lines.joined(separator: "\r\n") + "\r\n\r\n", within: .seconds(120))
        let arrival = test.upstream.arrivals.first { $0.head.headers.first(name: HeaderName.requestID) == id }
        let signer = PrincipalSigner(internalSecret: TestKeys.internalSecret)
        let principal = arrival?.head.headers.first(name: HeaderName.principal).flatMap {
            signer.principal(from: $0, at: Date())?.principal
        }
        let code = client.body.split(separator: "\"code\":\"").dropFirst().first?.prefix { $0 != "\"" }
        let found = principal.map { $0.kind.rawValue + ($0.userID.map { " " + $0 } ?? "") } ?? code.map(String.init)
        let expected = item.expected(of: route)
        #expect(found == expected, "\(method) \(route.path): \(item.name): \(client.text.prefix(300))")
        #expect((arrival == nil) == (client.status >= 400), "\(method) \(route.path): \(item.name)")
    }
}
