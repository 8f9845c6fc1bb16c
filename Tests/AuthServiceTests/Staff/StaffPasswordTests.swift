import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AuthService

@Suite struct StaffPasswordTests {
    @Test func `A new password ends all other sessions and is valid at once`() async throws {
        try await StaffClient.run { client, root async throws in
            let other = try await client.signIn("root")
            let body = #"{"password":"\#(StaffClient.password)","newPassword":"quite another one"}"#
            let changed = try StaffTokens(try await client.send("PUT", "me/password", body, as: root))
            #expect(changed.sessionID == root.sessionID && changed.refresh == root.refresh)
            #expect(try await client.log() == ["root change-password staff \(root.staffID)"])
            #expect(try await client.refresh(other.refresh).isProblem(.invalidToken))
            #expect(try await client.refresh(root.refresh).status == 200)
            #expect(try await client.logIn("root").isProblem(.signInFailed))
            #expect(try await client.logIn("root", password: "quite another one").status == 200)
        }
    }

    @Test(
        arguments: [
            ("wrong horse battery", "quite another one", ErrorCode.signInFailed, nil),
            (StaffClient.password, "short", .invalidBody, "newPassword"),
            (StaffClient.password, "password123", .invalidBody, "newPassword"),
            (StaffClient.password, StaffClient.password, .invalidBody, "newPassword"),
        ] as [(String, String, ErrorCode, String?)])
    func `Refused requests change nothing`(old: String, new: String, code: ErrorCode, field: String?) async throws {
        try await StaffClient.run { client, root async throws in
            let answer = try await client.send(
                "PUT", "me/password", #"{"password":"\#(old)","newPassword":"\#(new)"}"#, as: root)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(!answer.text.contains(new))
            #expect(try await client.logIn("root").status == 200)
        }
    }

    @Test func `Staff who must change their password can do nothing else before`() async throws {
        try await StaffClient.run { client, root async throws in
            let made = try await client.send("POST", "staff", #"{"userName":"berta","isAdministrator":true}"#, as: root)
            #expect(
                made.status == 201 && made["mustReset"] == "true" && made.header("cache-control") == "no-store",
                "\(made)")
            let password = try #require(made.string("password"))
            let berta = try await client.signIn("berta", password: password)
            #expect(berta.mustReset)
            for (method, path) in [
                ("GET", "me"), ("GET", "sessions"), ("DELETE", "sessions"), ("POST", "me/totp"),
                ("POST", "me/totp/confirm"), ("DELETE", "me/totp"),
                ("GET", "staff"), ("POST", "staff"), ("GET", "staff/\(root.staffID)"),
                ("PATCH", "staff/\(root.staffID)"),
                ("DELETE", "staff/\(root.staffID)"), ("GET", "audit"), ("GET", "audit/export"), ("GET", "sign-ins"),
            ] {
                let answer = try await client.send(
                    method, path, method == "GET" || method == "DELETE" ? nil : "{}", as: berta)
                #expect(answer.isProblem(.passwordResetRequired), "\(method) \(path) \(answer)")
            }
            // A refreshed token does not bypass the required change of the password.
            #expect(try StaffTokens(try await client.refresh(berta.refresh)).mustReset)
            let body = #"{"password":"\#(password)","newPassword":"quite another one"}"#
            let free = try StaffTokens(try await client.send("PUT", "me/password", body, as: berta))
            #expect(!free.mustReset)
            #expect(try await client.send("GET", "staff", as: free).status == 200)
        }
    }

    @Test func `A forced reset, or a password set by someone else, ends all sessions`() async throws {
        try await StaffClient.run { client, root async throws in
            let id = try await client.make("berta", by: root)
            var berta = try await client.signIn("berta")
            #expect(try await client.send("PATCH", "staff/\(id)", #"{"mustReset":true}"#, as: root).status == 200)
            #expect(try await client.refresh(berta.refresh).isProblem(.invalidToken))
            berta = try await client.signIn("berta")
            #expect(berta.mustReset)
            let set = try await client.send("PATCH", "staff/\(id)", #"{"password":"a password of root's"}"#, as: root)
            #expect(set.status == 200 && set["mustReset"] == "true" && !set.text.contains("of root"), "\(set)")
            #expect(try await client.refresh(berta.refresh).isProblem(.invalidToken))
            #expect(try await client.signIn("berta", password: "a password of root's").mustReset)
            let entries = try await client.send("GET", "audit?action=update", as: root)
            #expect(
                entries["data.0.after.passwordSet"] == "true" && entries["data.1.before.mustReset"] == "false",
                "\(entries)")
            #expect(!entries.text.contains("of root's") && !entries.text.contains("argon2"))
            // Changing one's own password requires the old one.
            let own = try await client.send(
                "PATCH", "staff/\(root.staffID)", #"{"password":"without the old one"}"#, as: root)
            #expect(own.isProblem(.invalidBody, field: "password"))
        }
    }
}
