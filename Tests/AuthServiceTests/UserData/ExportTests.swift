import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ExportTests {
    /// Waits until the export has finished.
    private func finished(_ client: UserClient, _ tokens: Tokens) async throws -> Answer {
        try await eventually("the export is finished") {
            let answer = try await client.send("GET", "me/export", as: tokens)
            try #require(answer.status == 200, "\(answer)")
            return answer["finished"] != "null" ? answer : nil
        }
    }

    @Test func `A user's data from every service is collected without secrets, and can be downloaded`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            let anna = try await client.signUp(more: #","email":"anna@example.org","private":{"phone":"1"}"#)
            let berta = try await client.signUp("berta")
            _ = try await client.logIn()
            storage.give(5, to: anna.userID, of: client.app.id)
            #expect(try await client.send("GET", "me/export", as: anna).isProblem(.jobNotFound))
            #expect(try await client.send("GET", "me/export/content", as: anna).isProblem(.conflict))
            #expect(try await client.send("DELETE", "me/export", as: anna).isProblem(.jobNotFound))
            let started = try await client.send("POST", "me/export", as: anna)
            #expect(started.status == 202 && started.string("id") != nil, "\(started)")
            let done = try await finished(client, anna)
            #expect(
                done.string("state") == "done" && done["progress.done"] == "2" && done.string("expires") != nil,
                "\(done)")
            let content = try await client.send("GET", "me/export/content", as: anna)
            #expect(
                content.header("content-type") == "application/jsonl" && content.header("cache-control") == "no-store")
            #expect(done["sizeInBytes"] == String(content.text.utf8.count))
            let lines = try content.text.split(separator: "\n").map { try JSONValue(parsing: $0.utf8) }
            #expect(
                lines.map { $0["kind"]?.text } == [#""account""#, #""session""#, #""session""#]
                    + Array(repeating: #""thing""#, count: 5))
            #expect(
                lines[0]["data"]?["private"]?["phone"]?.text == #""1""#
                    && lines[0]["data"]?["email"]?.text == #""anna@example.org""#)
            #expect(
                !content.text.contains("argon2") && !content.text.contains("berta")
                    && !content.text.contains(anna.sessionID))
            #expect(try await client.send("GET", "me/export/content", as: berta).isProblem(.conflict))
            #expect(try await client.send("GET", "me/export").isProblem(.invalidToken))

            // One a day, unless the app's server requests it; each replaces the previous one.
            let again = try await client.send("POST", "me/export", as: anna)
            #expect(
                again.isProblem(.tooManyRequests)
                    && (86_000...86_400).contains(Int(again.header("retry-after") ?? "") ?? 0), "\(again)")
            #expect(try await client.master("POST", "users/\(anna.userID)/export").status == 202)
            _ = try await finished(client, anna)
            #expect(try await client.master("GET", "users/\(anna.userID)/export/content").text == content.text)
            #expect(try await client.count("SELECT count(*) FROM auth.job_files") == 1)
            try await client.auth.postgres.execute("UPDATE auth.exports SET started = started - interval '1 day'")
            #expect(try await client.send("POST", "me/export", as: anna).status == 202)
        }
    }

    @Test func `An export lists all ways to sign in, without secrets`() async throws {
        try await FakeProvider.run { client, provider in
            try await client.register(provider)
            try await client.allowPasskeys()
            let claims = ["email": #""ada@example.org""#, "email_verified": "true"]
            let user = try Tokens(try await client.signIn(idToken: try provider.token(claims)))
            var device = SoftPasskey()
            #expect(try await client.addPasskey(&device, as: user, "{}").status == 201)
            try await client.auth.postgres.execute(
                """
                WITH client AS (
                    INSERT INTO auth.clients (id, app_id, environment, name, redirect_uris, scopes)
                    VALUES (gen_random_uuid(), \(client.app.id), 'live', 'Forum', ARRAY['https://forum.example.org'], ARRAY['openid']) RETURNING id
                )
                INSERT INTO auth.client_grants (user_id, client_id, scopes)
                SELECT \(user.userID)::uuid, id, ARRAY['openid'] FROM client
                """)
            #expect(try await client.send("POST", "me/export", as: user).status == 202)
            _ = try await finished(client, user)
            let content = try await client.send("GET", "me/export/content", as: user)
            let lines = try content.text.split(separator: "\n").map { try JSONValue(parsing: $0.utf8) }
            #expect(lines.map { $0.string("kind") } == ["account", "session", "passkey", "identity", "allowedClient"])
            #expect(lines[3]["data"]?.string("subject") == "s-1" && lines[4]["data"]?.string("name") == "Forum")
            #expect(!content.text.contains(Base64URL.encode(device.id)))
        }
    }

    @Test func `A user has one export at a time, and can cancel it`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            let anna = try await client.signUp()
            storage.fail(1_000_000)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<5 { group.addTask { try await client.send("POST", "me/export", as: anna).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }.sorted()
            }
            #expect(statuses == [202, 409, 409, 409, 409])
            try await eventually("storage is called") { !storage.calls.isEmpty }
            #expect(try await client.send("GET", "me/export", as: anna).string("progress.at") == "storage")
            #expect(try await client.master("POST", "users/\(anna.userID)/export").isProblem(.conflict))
            #expect(try await client.send("DELETE", "me/export", as: anna).status == 204)
            #expect(try await finished(client, anna).string("state") == "cancelled")
            #expect(try await client.send("GET", "me/export/content", as: anna).isProblem(.conflict))
            #expect(try await client.count("SELECT count(*) FROM auth.job_files") == 0)
            #expect(try await client.send("POST", "me/export", as: anna).isProblem(.tooManyRequests))
        }
    }

    @Test func `An export beyond the limit is not kept, and can be tried again`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }, exportLimitInBytes: 5_000) { client in
            let anna = try await client.signUp()
            storage.give(1_000, to: anna.userID, of: client.app.id)
            #expect(try await client.send("POST", "me/export", as: anna).status == 202)
            let failed = try await finished(client, anna)
            #expect(failed.string("state") == "failed" && failed.string("error.code") == "limit-exceeded", "\(failed)")
            #expect(try await client.count("SELECT count(*) FROM auth.job_portions") == 0)
            storage.give(1, to: anna.userID, of: client.app.id)
            #expect(try await client.send("POST", "me/export", as: anna).status == 202)
            #expect(try await finished(client, anna).string("state") == "done")
        }
    }

    @Test func `An account's export is deleted with it`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            #expect(try await client.send("POST", "me/export", as: anna).status == 202)
            _ = try await finished(client, anna)
            #expect(try await client.count("SELECT count(*) FROM auth.job_portions") == 1)
            #expect(try await client.master("DELETE", "users/\(anna.userID)").status == 202)
            #expect(try await client.count("SELECT count(*) FROM auth.job_portions") == 0)
            #expect(try await client.send("POST", "me/export", as: anna).isProblem(.userNotFound))
            #expect(try await client.send("GET", "me/export", as: anna).isProblem(.jobNotFound))
        }
    }

    @Test func `An export is separate from other users and the other environment`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            for (method, path) in [
                ("POST", "export"), ("GET", "export"), ("DELETE", "export"), ("GET", "export/content"),
            ] {
                #expect(
                    try await client.send(method, "users/\(anna.userID)/\(path)", as: anna).isProblem(.forbidden),
                    "\(method) \(path)")
            }
            var test = client
            test.environment = .test
            #expect(try await test.master("POST", "users/\(anna.userID)/export").isProblem(.userNotFound))
            #expect(try await client.master("POST", "users/x/export").isProblem(.userNotFound))
            #expect(
                try await client.send("POST", "me/export", #"{"a":1}"#, as: anna).isProblem(.invalidBody, field: "a"))
            #expect(try await client.count("SELECT count(*) FROM auth.exports") == 0)
        }
    }
}
