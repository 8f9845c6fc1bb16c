import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct DeletionTests {
    private func receipt(_ client: UserClient, _ deletion: Answer, token: String? = nil) async throws -> Answer {
        let (id, own) = (try #require(deletion.string("id")), try #require(deletion.string("token")))
        return try await client.send("GET", "receipts/\(id)", headers: [HeaderName.receiptToken: token ?? own])
    }

    /// Waits until the deletion is complete.
    private func complete(_ client: UserClient, _ deletion: Answer) async throws -> Answer {
        try await eventually("the deletion is complete") {
            let answer = try await receipt(client, deletion)
            try #require(answer.status == 200, "\(answer)")
            return answer.string("state") == "complete" ? answer : nil
        }
    }

    @Test func `An account is deleted with its password, in auth at once and then in every service, with a receipt`()
        async throws
    {
        let (storage, analytics) = (try await OtherService.start("storage"), try await OtherService.start("analytics"))
        try await UserClient.run(services: { _ in [storage.address, analytics.address] }) { client in
            let anna = try await client.signUp(more: #","email":"anna@example.org","profile":{"score":1}"#)
            let berta = try await client.signUp("berta")
            storage.give(5, to: anna.userID, of: client.app.id)
            storage.give(3, to: berta.userID, of: client.app.id)
            storage.give(4, to: anna.userID, of: client.app.id, in: .test)
            #expect(try await client.send("DELETE", "me", "{}", as: anna).isProblem(.invalidBody, field: "password"))
            #expect(
                try await client.send("DELETE", "me", #"{"password":"wrong horse"}"#, as: anna).isProblem(.signInFailed)
            )
            #expect(storage.calls.isEmpty)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 2)

            let deletion = try await client.send("DELETE", "me", #"{"password":"correct horse"}"#, as: anna)
            #expect(deletion.status == 202 && deletion.string("state") == "erasing", "\(deletion)")
            #expect(deletion.header("cache-control") == "no-store")
            #expect(try await client.send("GET", "me", as: anna).isProblem(.userNotFound))
            #expect(try await client.refresh(anna.refresh).isProblem(.invalidToken))
            #expect(try await client.logIn().isProblem(.signInFailed))
            #expect(try await client.count("SELECT count(*) FROM auth.revocations") == 1)
            #expect(try await client.master("GET", "users/\(anna.userID)").isProblem(.userNotFound))
            #expect(
                try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":false}"#).isProblem(
                    .userNotFound))
            #expect(try await client.master("DELETE", "users/\(anna.userID)").isProblem(.userNotFound))
            // Name and address are free again, and another user takes them.
            #expect(try await client.signUp(more: #","email":"anna@example.org""#).userID != anna.userID)

            let done = try await complete(client, deletion)
            #expect(done["erased"] == #"{"auth":{"accounts":1,"sessions":1},"storage":{"things":5}}"#, "\(done)")
            #expect(done.string("finished") != nil && done["progress"] == "null" && !done.text.contains(anna.userID))
            #expect(storage.count(of: anna.userID, of: client.app.id) == 0)
            #expect(storage.count(of: berta.userID, of: client.app.id) == 3)
            #expect(storage.count(of: anna.userID, of: client.app.id, in: .test) == 4)
            #expect(!analytics.calls.isEmpty)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 2)
        }
    }

    @Test func `An anonymous user needs no proof, and a server needs no password`() async throws {
        try await UserClient.run { client in
            let anonymous = try Tokens(try await client.send("POST", "anonymous"))
            let own = try await client.send("DELETE", "me", as: anonymous)
            #expect(own.status == 202, "\(own)")
            _ = try await complete(client, own)
            let anna = try await client.signUp()
            #expect(try await client.send("DELETE", "users/\(anna.userID)", as: anna).isProblem(.forbidden))
            let managed = try await client.master("DELETE", "users/\(anna.userID)")
            #expect(managed.status == 202, "\(managed)")
            _ = try await complete(client, managed)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }

    @Test func `Invitations to the address and known sign-in addresses are deleted with the account`() async throws {
        try await UserClient.run { client in
            _ = try await client.signUp(more: #","email":"anna@example.org""#)
            let anna = try Tokens(try await client.logIn())
            try await client.auth.postgres.execute(
                """
                INSERT INTO auth.invitations (id, app_id, environment, email, expires, used)
                SELECT gen_random_uuid(), \(client.app.id), 'live', name || '@example.org', now(), now() FROM unnest(ARRAY['anna', 'berta']) AS name
                """)
            #expect(try await client.count("SELECT count(*) FROM auth.sign_in_places") == 1)
            #expect(try await client.send("DELETE", "me", #"{"password":"correct horse"}"#, as: anna).status == 202)
            #expect(
                try await client.count("SELECT count(*) FROM auth.invitations WHERE email = 'berta@example.org'") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.invitations") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.sign_in_places") == 0)
        }
    }

    @Test func `Of two concurrent deletions, one gets a receipt`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            async let a = client.master("DELETE", "users/\(anna.userID)")
            async let b = client.master("DELETE", "users/\(anna.userID)")
            let statuses = try await [a.status, b.status].sorted()
            #expect(statuses == [202, 404])
            #expect(try await client.count("SELECT count(*) FROM auth.receipts") == 1)
        }
    }

    @Test func `A concurrent sign-in leaves no session behind`() async throws {
        try await UserClient.run { client in
            for round in 0..<5 {
                let anna = try await client.signUp("anna\(round)")
                async let deletion = client.master("DELETE", "users/\(anna.userID)")
                async let login = client.logIn("anna\(round)")
                let (deleted, signedIn) = try await (deletion, login)
                #expect(deleted.status == 202)
                if signedIn.status == 200 {
                    let tokens = try Tokens(signedIn)
                    #expect(try await client.refresh(tokens.refresh).isProblem(.invalidToken))
                }
                let id = try #require(UUID(uuidString: anna.userID))
                #expect(try await client.count("SELECT count(*) FROM auth.sessions WHERE user_id = \(id)") == 0)
            }
        }
    }

    @Test func `The deletion waits for an unavailable service, and the receipt shows progress`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            let anna = try await client.signUp()
            storage.give(6, to: anna.userID, of: client.app.id)
            storage.fail(1_000_000)
            let deletion = try await client.master("DELETE", "users/\(anna.userID)")
            try await eventually("storage is called") { !storage.calls.isEmpty }
            let waiting = try await receipt(client, deletion)
            #expect(waiting.string("state") == "erasing" && waiting.string("progress.at") == "storage", "\(waiting)")
            #expect(waiting["progress.total"] == "2" && waiting["finished"] == "null")
            storage.fail(0)
            let done = try await complete(client, deletion)
            #expect(done["erased.storage"] == #"{"things":6}"#, "\(done)")
            #expect(storage.count(of: anna.userID, of: client.app.id) == 0)
        }
    }

    @Test func `Devices are erased first, whatever other services are unavailable`() async throws {
        let (storage, notifications) = (
            try await OtherService.start("storage"), try await OtherService.start("notifications")
        )
        try await UserClient.run(services: { _ in [storage.address, notifications.address] }) { client in
            let anna = try await client.signUp()
            notifications.give(3, to: anna.userID, of: client.app.id)
            storage.fail(1_000_000)
            #expect(try await client.master("DELETE", "users/\(anna.userID)").status == 202)
            try await eventually("storage is called") { !storage.calls.isEmpty }
            #expect(notifications.count(of: anna.userID, of: client.app.id) == 0)
        }
    }

    @Test func `A receipt is readable only with its token, in its app and environment, and expires`() async throws {
        try await UserClient.run { client in
            let deletion = try await client.send(
                "DELETE", "me", as: try Tokens(try await client.send("POST", "anonymous")))
            _ = try await complete(client, deletion)
            let id = try #require(deletion.string("id"))
            var test = client
            test.environment = .test
            #expect(try await receipt(test, deletion).isProblem(.notFound))
            #expect(try await receipt(client, deletion, token: "x").isProblem(.notFound))
            #expect(try await client.send("GET", "receipts/\(id)").isProblem(.notFound))
            let token = [HeaderName.receiptToken: try #require(deletion.string("token"))]
            for other in ["x", UUID().uuidString] {
                #expect(try await client.send("GET", "receipts/\(other)", headers: token).isProblem(.notFound))
            }
            #expect(
                try await client.send("GET", "receipts/\(id)?token=x", headers: token).isProblem(
                    .invalidParameter, field: "token"))
            #expect(
                try await client.count(
                    "SELECT count(*) FROM auth.receipts WHERE token = \(Data(token.values.joined().utf8))") == 0)
            let jobs = JobQueue(postgres: client.auth.postgres, schema: "auth")
            let identities = IdentityStore(
                postgres: client.auth.postgres, key: SealingKey(SymmetricKey(size: .bits256)))
            let deletions = DeletionStore(
                postgres: client.auth.postgres, jobs: jobs,
                revocation: TokenRevocation(identities: identities, jobs: jobs))
            for (days, status) in [(89, 200), (91, 404)] {
                try await client.auth.postgres.execute(
                    "UPDATE auth.receipts SET finished = now() - make_interval(days => \(Int32(days)))")
                try await deletions.clean()
                #expect(try await receipt(client, deletion).status == status)
            }
        }
    }

    @Test func `A second pass erases what is written while access tokens are still valid`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            let anna = try await client.signUp()
            storage.give(2, to: anna.userID, of: client.app.id)
            let deletion = try await client.master("DELETE", "users/\(anna.userID)")
            _ = try await complete(client, deletion)
            storage.give(3, to: anna.userID, of: client.app.id)
            let due = try await client.count(
                "SELECT extract(epoch FROM due - now())::bigint FROM auth.jobs WHERE kind = \(EraseUserAgain.kind) AND state = 'waiting'"
            )
            #expect((1_100...1_200).contains(due))
            try await client.auth.postgres.execute(
                "UPDATE auth.jobs SET due = now() WHERE kind = \(EraseUserAgain.kind)")
            try await eventually("storage erased the user") { storage.count(of: anna.userID, of: client.app.id) == 0 }
            let counted = try await eventually("five things are counted") {
                let counted = try await receipt(client, deletion)
                return counted["erased.storage"] == #"{"things":5}"# ? counted : nil
            }
            #expect(counted.string("state") == "complete")
        }
    }

    @Test func `Only internal services may erase and export`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            let body = #"{"app":"\#(client.app.id)","environment":"live","user":"\#(anna.userID)"}"#
            let app = Principal(
                kind: .master, appID: client.app.id, appNumber: 1, environment: .live, credentialID: "c")
            for path in ["/internal/users/erase", "/internal/users/export"] {
                #expect(try await client.auth.gateway.acting(as: app).post(path, body).isProblem(.forbidden))
                #expect(try await client.auth.gateway.acting(as: nil).post(path, body).isProblem(.unauthorized))
                #expect(
                    try await client.auth.gateway.post(path, body.replacing(anna.userID, with: "x")).isProblem(
                        .invalidBody, field: "user"))
            }
            let test = body.replacing("live", with: "test")
            #expect(try await client.auth.gateway.post("/internal/users/erase", test)["erased"] == "{}")
            #expect(try await client.auth.gateway.post("/internal/users/export", test).text == "")
            #expect(
                try await client.auth.gateway.post("/internal/users/export", body).text.contains(#""kind":"account""#))
            #expect(try await client.auth.gateway.post("/internal/users/erase", body)["erased"] == #"{"accounts":1}"#)
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }
}
