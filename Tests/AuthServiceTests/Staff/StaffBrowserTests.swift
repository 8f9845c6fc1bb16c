import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// Staff who sign in with a browser have their tokens in cookies.
@Suite struct StaffBrowserTests {
    private static let dashboard = [HeaderName.dashboard: "1"]
    private static let credentials = #"{"userName":"root","password":"\#(StaffClient.password)"}"#

    /// The values of the cookies that an answer sets.
    private func cookies(_ answer: Answer) -> [String: String] {
        Dictionary(
            answer.headers("set-cookie").compactMap { header in
                let parts = header.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
                return parts.first.map { (String($0), parts.count > 1 ? String(parts[1]) : "") }
            }, uniquingKeysWith: { $1 })
    }

    private func cookieHeader(_ cookies: [String: String]) -> String {
        cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
    }

    @Test func `signing in sets cookies that no script reads, and the answer has no token`() async throws {
        try await StaffClient.run { client, _ async throws in
            let answer = try await client.send("POST", "auth/login", Self.credentials, headers: Self.dashboard)
            #expect(answer.status == 200 && answer["expiresIn"] == "900", "\(answer)")
            #expect(answer["accessToken"] == nil && answer["refreshToken"] == nil)
            #expect(answer.string("staff.userName") == "root")
            let lines = answer.headers("set-cookie")
            #expect(lines.count == 2)
            for line in lines {
                #expect(line.hasPrefix("__Host-martlet-staff"))
                for part in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict", "; Max-Age="] {
                    #expect(line.localizedCaseInsensitiveContains(part), "\(part) in \(line.prefix(40))")
                }
                #expect(!line.localizedCaseInsensitiveContains("domain"))
            }
            let token = try #require(cookies(answer)["__Host-martlet-staff"])
            let payload = try #require(Base64URL.decode(token.split(separator: ".")[1]))
            let claims = try JSONDecoder().decode(StaffToken.self, from: payload)
            #expect(abs(Double(try #require(claims.confirmed)) - Date().timeIntervalSince1970) < 600)
        }
    }

    @Test func `a session is refreshed by its cookie, only with the dashboard's header, and ended`() async throws {
        try await StaffClient.run { client, root async throws in
            let signedIn = try await client.send("POST", "auth/login", Self.credentials, headers: Self.dashboard)
            let cookie = ["cookie": cookieHeader(cookies(signedIn))]
            #expect(try await client.send("POST", "auth/refresh", headers: cookie).status == 400)
            #expect(try await client.send("POST", "auth/refresh", headers: Self.dashboard).isProblem(.invalidToken))
            let both = cookie.merging(Self.dashboard) { $1 }
            let refreshed = try await client.send("POST", "auth/refresh", headers: both)
            #expect(refreshed.status == 200 && refreshed["accessToken"] == nil, "\(refreshed)")
            #expect(
                cookies(refreshed)["__Host-martlet-staff-refresh"] != cookies(signedIn)["__Host-martlet-staff-refresh"])
            // Requests without the dashboard's header are not affected.
            #expect(try await client.refresh(root.refresh).string("accessToken") != nil)
            let out = try await client.send("POST", "auth/logout", as: root, headers: Self.dashboard)
            #expect(
                out.status == 204 && cookies(out) == ["__Host-martlet-staff": "", "__Host-martlet-staff-refresh": ""])
            #expect(
                out.headers("set-cookie").allSatisfy { $0.contains("Max-Age=0") })
        }
    }

    @Test func `a confirmation takes the password and the second factor, and is logged`() async throws {
        try await StaffClient.run { client, root async throws in
            var late = root
            late.confirmed = Int64(Date().timeIntervalSince1970) - 700
            let id = try await client.make("dana", by: root)
            #expect(try await client.send("DELETE", "staff/\(id)", as: late).isProblem(.confirmationRequired))
            for (body, code) in [
                (#"{"password":"wrong horse battery"}"#, ErrorCode.signInFailed), ("{}", .invalidBody),
            ] {
                #expect(try await client.send("POST", "auth/confirm", body, as: late).isProblem(code), "\(body)")
            }
            let body = #"{"password":"\#(StaffClient.password)"}"#
            try await client.auth.postgres.execute(
                "UPDATE auth.staff_sessions SET confirmed = now() - interval '1 hour'")
            let refreshed = try StaffTokens(try await client.refresh(root.refresh))
            #expect(try #require(refreshed.confirmed) < Int64(Date().timeIntervalSince1970) - 3_000)
            let confirmed = try StaffTokens(try await client.send("POST", "auth/confirm", body, as: refreshed))
            #expect(confirmed.refresh == refreshed.refresh && confirmed.sessionID == root.sessionID)
            #expect(try await client.log() == ["root confirm staff \(root.sessionID)"])
            #expect(try await client.send("DELETE", "staff/\(id)", as: confirmed).status == 204)

            let added = try await client.send("POST", "me/totp", body, as: confirmed)
            let secret = SecondFactorTests.decodeBase32(try #require(added.string("secret")))
            let code = SecondFactorTests.code(secret, 0)
            #expect(
                try await client.send("POST", "me/totp/confirm", #"{"code":"\#(code)"}"#, as: confirmed).status == 200)
            #expect(
                try await client.send("POST", "auth/confirm", body, as: confirmed).isProblem(.secondFactorRequired))
            let next = SecondFactorTests.code(secret, 1)
            let withCode = #"{"password":"\#(StaffClient.password)","code":"\#(next)"}"#
            #expect(try await client.send("POST", "auth/confirm", withCode, as: confirmed).status == 200)
        }
    }
}
