import Crypto
import Foundation
import MartletAPI
import MartletCore
import NIOHTTP1
import Synchronization
import Testing

@testable import GatewayService

/// Staff: which credentials give access to their routes, and which principal services get.
@Suite struct StaffTests {
    private static let key = P256.Signing.PrivateKey()
    private static let ada = StaffGrant(
        id: "staff-1", userName: "ada", rights: StaffRights(["alpha": [.storage: [.read]]]))

    private static func token(
        _ session: String = "s-1", of staff: String = "staff-1", mustReset: Bool = false, age: TimeInterval = 0,
        kid: String = "k1",
        key: P256.Signing.PrivateKey = key
    ) throws -> String {
        try AccessTokenSigner(keyID: kid, privateKey: key.rawRepresentation).sign(
            StaffToken(
                staffID: staff, sessionID: session, mustReset: mustReset, issued: Date(timeIntervalSinceNow: -age)))
    }

    private static func userToken() throws -> String {
        try AccessTokenSigner(keyID: "k1", privateKey: key.rawRepresentation).sign(
            AccessToken(appID: "alpha", environment: .live, userID: "staff-1", sessionID: "s-1", issued: Date()))
    }

    private static func request(
        _ token: String?, _ path: String = "/admin/staff", method: String = "GET", headers: [String] = []
    ) -> String {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: gw", "Connection: close"] + headers
            + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    private func principal(_ test: TestGateway) -> Principal? {
        let signer = PrincipalSigner(internalSecret: TestKeys.internalSecret)
        return test.upstream.arrivals.last?.head.headers.first(name: HeaderName.principal).flatMap {
            signer.principal(from: $0, at: Date())?.principal
        }
    }

    private func status(_ test: TestGateway, _ request: String) async throws -> Int {
        Int(try await test.exchange(request).text.dropFirst(9).prefix(3)) ?? 0
    }

    /// Runs with a ring that has the key and Ada.
    private func withAda(
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: @Sendable (TestGateway) async throws -> Void
    ) async throws {
        try await withGateway(configure: configure) { test in
            test.auth.publish {
                $0.signingKeys = [
                    .init(id: "k1", publicKey: Base64URL.encode(Self.key.publicKey.x963Representation), expires: nil)
                ]
                $0.staff = [Self.ada]
            }
            let request = Self.request(try Self.token())
            await test.eventuallyInEveryLoop { try await status(test, request) == 200 }
            try await body(test)
        }
    }

    @Test func `A staff token identifies the caller and their rights, and is not passed on`() async throws {
        try await withAda { test in
            #expect(try await status(test, Self.request(try Self.token())) == 200)
            let known = try #require(principal(test))
            #expect(
                known.kind == .staff && known.staff == Self.ada && known.sessionID == "s-1"
                    && known.credentialID == "staff-1")
            #expect(known.appID == "" && known.userID == nil && known.environment == .live)
            let head = try #require(test.upstream.arrivals.last?.head)
            #expect(
                !head.headers.contains(name: "authorization")
                    && head.headers.first(name: HeaderName.address) == "0:ffff7f000001")
            // The token states whether the member must change the password.
            #expect(try await status(test, Self.request(try Self.token(mustReset: true))) == 200)
            #expect(principal(test)?.staff?.mustReset == true)
            #expect(try await status(test, Self.request(try Self.token())) == 200)
            #expect(principal(test)?.staff?.mustReset == false)
        }
    }

    @Test func `An app in the path is passed on with its number and the environment of the header`() async throws {
        try await withAda { test in
            let token = try Self.token()
            #expect(try await status(test, Self.request(token, "/admin/apps/alpha/storage")) == 200)
            #expect(
                principal(test)?.appID == "alpha" && principal(test)?.appNumber == 7
                    && principal(test)?.environment == .live)
            #expect(
                try await status(
                    test, Self.request(token, "/admin/apps/beta/storage", headers: ["X-Martlet-Environment: test"]))
                    == 200)
            #expect(principal(test)?.appID == "beta" && principal(test)?.environment == .test)
            let before = test.upstream.arrivals.count
            #expect(try await status(test, Self.request(token, "/admin/apps/gamma/storage")) == 404)
            #expect(
                try await status(
                    test, Self.request(token, "/admin/apps/alpha/storage", headers: ["X-Martlet-Environment: prod"]))
                    == 400)
            #expect(try await status(test, Self.request(nil, "/admin/apps/gamma/storage")) == 401)
            #expect(test.upstream.arrivals.count == before)
        }
    }

    @Test func `The line of a staff request names the member, and no app if there is none`() async throws {
        let lines = Mutex<[UInt8]>([])
        try await withAda(configure: {
            $0.logsRequests = true
            $0.requestLines = { bytes in lines.withLock { $0 += bytes } }
        }) { test in
            #expect(try await status(test, Self.request(try Self.token(), headers: ["X-Request-Id: req-1"])) == 200)
            await eventually { lines.withLock { String(decoding: $0, as: UTF8.self).contains("req-1") } }
            let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
            let line = try #require(text.split(separator: "\n").first { $0.contains("req-1") })
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["credential.id"] as? String == "staff-1" && object["app.id"] == nil, "\(line)")
        }
    }

    @Test func `Only staff tokens give access to staff routes`() async throws {
        try await withAda { test in
            let before = test.upstream.arrivals.count
            let good = try Self.token()
            let parts = good.split(separator: ".").map(String.init)
            func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
            for (name, request) in [
                ("none", Self.request(nil)), ("empty", Self.request("")),
                ("an end user's", Self.request(try Self.userToken())),
                ("expired", Self.request(try Self.token(age: 901))),
                ("not of the staff", Self.request(try Self.token(of: "staff-2"))),
                ("another key", Self.request(try Self.token(key: P256.Signing.PrivateKey()))),
                ("unknown kid", Self.request(try Self.token(kid: "k2"))),
                (
                    "type of users",
                    Self.request(
                        [encoded(#"{"alg":"ES256","kid":"k1","typ":"at+jwt"}"#), parts[1], parts[2]].joined(
                            separator: "."))
                ),
                ("alg none", Self.request(encoded(#"{"alg":"none","kid":"k1","typ":"staff+jwt"}"#) + ".\(parts[1]).")),
                ("a cookie", Self.request(nil, headers: ["Cookie: accessToken=\(good); Authorization=Bearer \(good)"])),
                ("in the query", Self.request(nil, "/admin/staff?access_token=\(good)")),
                (
                    "keys of an app",
                    Self.request(nil, headers: ["X-Martlet-Master-Key: mm_A", "X-Martlet-Secret: ms_A"])
                ),
                ("a forged principal", Self.request(nil, headers: ["X-Martlet-Principal: \(good)"])),
            ] {
                #expect(try await status(test, request) == 401, "\(name)")
            }
            #expect(test.upstream.arrivals.count == before)
        }
    }

    /// Requests of a browser, whose cookie counts only for pages of this server.
    @Test func `A staff token in a cookie needs the dashboard's header and a page of this server`() async throws {
        try await withAda { test in
            let cookie = "Cookie: a=b; __Host-martlet-staff=\(try Self.token()); c=d"
            let header = "Martlet-Dashboard: 1"
            let before = test.upstream.arrivals.count
            for (headers, expected) in [
                ([cookie], 401),
                ([cookie, "Sec-Fetch-Site: same-origin"], 401),
                ([cookie, header], 403),
                ([cookie, header, "Sec-Fetch-Site: cross-site"], 403),
                ([cookie, header, "Sec-Fetch-Site: same-site"], 403),
                ([cookie, header, "Sec-Fetch-Site: none"], 403),
                ([cookie, header, "Sec-Fetch-Site: same-origin", "Origin: https://gw.evil.example"], 403),
                ([cookie, header, "Origin: https://gw.evil.example"], 403),
                ([cookie, header, "Origin: null"], 403),
                ([cookie, header, "Origin: ftp://gw"], 403),
                ([header, "Sec-Fetch-Site: same-origin"], 401),
                (["Cookie: __Host-martlet-staff=", header, "Sec-Fetch-Site: same-origin"], 401),
                (["Cookie: __Host-martlet-staff=x", header, "Sec-Fetch-Site: same-origin"], 401),
                (["Cookie: x__Host-martlet-staff=\(try Self.token())", header, "Origin: http://gw"], 401),
            ] {
                #expect(
                    try await status(test, Self.request(nil, headers: headers)) == expected, "\(headers.dropFirst())")
            }
            #expect(test.upstream.arrivals.count == before)
            for headers in [
                ["Sec-Fetch-Site: same-origin"], ["Origin: https://gw"],
                ["Origin: http://gw", "Sec-Fetch-Site: same-origin"],
            ] {
                #expect(try await status(test, Self.request(nil, headers: [cookie, header] + headers)) == 200)
                #expect(principal(test)?.staff?.id == "staff-1" && principal(test)?.sessionID == "s-1")
                #expect(test.upstream.arrivals.last?.head.headers.contains(name: "cookie") == false)
            }
            // Signing in gets the cookies, among them the one with the refresh token.
            let login = Self.request(
                nil, "/admin/auth/login", method: "POST",
                headers: [cookie, header, "Origin: http://gw", "Content-Length: 0"])
            #expect(try await status(test, login) == 200)
            let head = try #require(test.upstream.arrivals.last?.head)
            #expect(head.headers.contains(name: "cookie") && head.headers.contains(name: "martlet-dashboard"))
            #expect(principal(test)?.staff == nil)
        }
    }

    @Test func `The time at which a member proved who they are comes from the token`() async throws {
        try await withAda { test in
            let signer = try AccessTokenSigner(keyID: "k1", privateKey: Self.key.rawRepresentation)
            func token(_ confirmed: Date?) throws -> String {
                try signer.sign(
                    StaffToken(
                        staffID: "staff-1", sessionID: "s-1", mustReset: false, confirmed: confirmed, issued: Date()))
            }
            #expect(try await status(test, Self.request(try token(Date(timeIntervalSince1970: 1_000)))) == 200)
            #expect(principal(test)?.staff?.confirmed == 1_000)
            #expect(try await status(test, Self.request(try token(Date(timeIntervalSince1970: 2_000)))) == 200)
            #expect(principal(test)?.staff?.confirmed == 2_000)
            #expect(try await status(test, Self.request(try token(nil))) == 200)
            #expect(principal(test)?.staff?.confirmed == nil)
        }
    }

    @Test func `A staff token gives no access to the routes of an app`() async throws {
        try await withAda { test in
            let before = test.upstream.arrivals.count
            let token = try Self.token()
            for headers in [["X-Martlet-Secret: ms_A"], ["X-Martlet-Master-Key: mm_A"], []] {
                #expect(
                    try await status(test, Self.request(token, "/api/mk_live_A/storage/Notes", headers: headers)) == 401
                )
            }
            #expect(test.upstream.arrivals.count == before)
        }
    }

    @Test func `Signing in requires no token, and the caller is anonymous`() async throws {
        try await withAda { test in
            for token in [nil, try Self.token(age: 10_000), try Self.token()] {
                #expect(
                    try await status(
                        test, Self.request(token, "/admin/auth/login", method: "POST", headers: ["Content-Length: 0"]))
                        == 200)
                #expect(
                    principal(test)?.kind == .staff && principal(test)?.staff == nil
                        && principal(test)?.sessionID == nil)
            }
            // A malformed token is refused here, too.
            #expect(
                try await status(
                    test, Self.request("x", "/admin/auth/login", method: "POST", headers: ["Content-Length: 0"])) == 401
            )
        }
    }

    @Test func `Changed rights and ended sessions apply from the next request on, even on an open connection`()
        async throws
    {
        try await withAda { test in
            let client = try await test.connect()
            let keeping = Self.request(try Self.token()).replacing("Connection: close\r\n", with: "")
            func ask() async throws -> Int {
                let before = client.text.components(of: "HTTP/1.1 ").count
                try await client.send(keeping)
                await eventually { client.text.components(of: "HTTP/1.1 ").count > before }
                return Int(client.text.components(of: "HTTP/1.1 ").last?.prefix(3) ?? "") ?? 0
            }
            #expect(try await ask() == 200)
            test.auth.publish { $0.staff[0].rights = .none }
            await eventually {
                _ = try? await ask()
                return principal(test)?.staff?.rights == StaffRights.none
            }
            test.auth.publish { $0.staff = [] }
            await eventually { (try? await ask()) == 401 }
            let request = Self.request(try Self.token())
            await test.eventuallyInEveryLoop { try await status(test, request) == 401 }
            test.auth.publish { $0.staff = [Self.ada] }
            await eventually { (try? await ask()) == 200 }
            await test.eventuallyInEveryLoop { try await status(test, request) == 200 }
            test.auth.revoke("s-1")
            await eventually { (try? await ask()) == 401 }
            #expect(try await status(test, Self.request(try Self.token("s-2"))) == 200)
            await client.close()
        }
    }
}
