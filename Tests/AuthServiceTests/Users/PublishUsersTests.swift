import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

/// Changes of public profiles are passed on to storage.
@Suite struct PublishUsersTests {
    @Test func `Every change of a public profile reaches storage, and nothing private does`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            func shown(_ user: String) -> UserDocuments.Shown? { storage.document(of: user)?.shown }
            let anna = try await client.signUp(
                more: #","email":"anna@example.org","profile":{"score":1},"private":{"pin":"4711"}"#)
            try await eventually("the new user is published") { shown(anna.userID)?.userName == "anna" }
            let first = try #require(shown(anna.userID))
            #expect(first.profile == #"{"score": 1}"# && !first.isEmailVerified)
            #expect(Date(rfc3339: first.created) != nil && Date(rfc3339: first.updated) != nil)

            _ = try await client.send("PATCH", "me", #"{"profile":{"score":2}}"#, as: anna)
            try await eventually("the profile is published") { shown(anna.userID)?.profile == #"{"score": 2}"# }
            _ = try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#)
            try await eventually("the address is verified") { shown(anna.userID)?.isEmailVerified == true }
            _ = try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#)
            try await eventually("the user is for the server only") {
                shown(anna.userID) == nil && storage.document(of: anna.userID)?.hidden?.userName == "anna"
            }
            _ = try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":false}"#)
            try await eventually("the user is back") { shown(anna.userID)?.userName == "anna" }
            #expect(storage.document(of: anna.userID)?.hidden == nil)
            _ = try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#)

            let anonymous = try Tokens(try await client.send("POST", "anonymous"))
            try await eventually("the anonymous user is published") { shown(anonymous.userID)?.profile == "{}" }
            #expect(shown(anonymous.userID)?.userName == nil)
            let upgrade = #"{"userName":"berta","password":"battery staple"}"#
            #expect(try await client.send("POST", "me/upgrade", upgrade, as: anonymous).status == 200)
            try await eventually("the name is published") { shown(anonymous.userID)?.userName == "berta" }

            #expect(try await client.master("DELETE", "users/\(anna.userID)").status == 202)
            try await eventually("the deleted user is removed") {
                storage.document(of: anna.userID).map { $0.stored == nil } == true
            }
            try await eventually("no change is waiting to be published") {
                try await client.count("SELECT count(*) FROM auth.user_changes") == 0
            }
            let sent = String(decoding: try JSONEncoder().encode(storage.documentCalls), as: UTF8.self)
            #expect(!sent.contains("4711") && !sent.contains("example.org") && !sent.contains("correct horse"))
        }
    }

    @Test func `A change that does not concern the public profile is not passed on to storage`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            let anna = try await client.signUp()
            try await eventually("no change is waiting to be published") {
                try await client.count("SELECT count(*) FROM auth.user_changes") == 0
            }
            let count = storage.documentCalls.count
            #expect(count >= 1)
            _ = try await client.send("PATCH", "me", #"{"private":{"pin":1}}"#, as: anna)
            _ = try await client.logIn()
            _ = try await client.refresh(anna.refresh)
            let password = #"{"password":"correct horse","newPassword":"battery staple"}"#
            #expect(try await client.send("PUT", "me/password", password, as: anna).status == 204)
            #expect(try await client.count("SELECT count(*) FROM auth.user_changes") == 0)
            #expect(storage.documentCalls.count == count)
        }
    }

    @Test func `After an outage, the newest state of each user arrives`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            storage.fail(3)
            let (anna, berta) = (try await client.signUp(), try await client.signUp("berta"))
            for score in 1...3 {
                _ = try await client.send("PATCH", "me", #"{"profile":{"score":\#(score)}}"#, as: anna)
            }
            #expect(try await client.master("DELETE", "users/\(berta.userID)").status == 202)
            try await client.auth.postgres.execute("UPDATE auth.user_changes SET due = now()")
            try await eventually("the newest state is published") {
                storage.document(of: anna.userID)?.shown?.profile == #"{"score": 3}"#
            }
            try await eventually("no change is waiting to be published") {
                try await client.auth.postgres.execute("UPDATE auth.user_changes SET due = now()")
                return try await client.count("SELECT count(*) FROM auth.user_changes") == 0
            }
            #expect(storage.document(of: berta.userID)?.shown == nil)

            // The alert counts only changes that were tried before. This one is not due, so it stays as it is.
            let changes = UserChangeStore(postgres: client.auth.postgres)
            try await client.auth.postgres.execute(
                """
                INSERT INTO auth.user_changes (user_id, app_id, environment, version, due)
                VALUES (gen_random_uuid(), 'other', 'live', 1, now() + interval '1 hour')
                """)
            #expect(try await changes.waiting(upTo: 10) == 0)
            try await client.auth.postgres.execute("UPDATE auth.user_changes SET attempts = 2")
            #expect(try await changes.waiting(upTo: 10) == 1)

            // A further change of a user does not hide that storage refuses the profile.
            storage.fail(1_000)
            try await client.auth.postgres.execute(
                """
                INSERT INTO auth.user_changes (user_id, app_id, environment, version, due, attempts)
                SELECT id, app_id, environment, 1, now() + interval '1 hour', 2 FROM auth.users WHERE NOT deleting
                """)
            _ = try await client.send("PATCH", "me", #"{"profile":{"score":4}}"#, as: anna)
            try await eventually("the change was tried") {
                try await client.count(
                    "SELECT count(*) FROM auth.user_changes WHERE app_id <> 'other' AND version > 1 AND due > now()"
                ) == 1
            }
            #expect(try await changes.waiting(upTo: 10) == 2)
        }
    }

    @Test func `Existing users are passed on to storage by a job, in portions`() async throws {
        let storage = try await OtherService.start("storage")
        try await UserClient.run(services: { _ in [storage.address] }) { client in
            let app = client.app.id
            // Before the upgrade, there is no trigger.
            let superuser = client.auth.database.superuserClient()
            try await superuser.executeScript(
                """
                ALTER TABLE auth.users DISABLE TRIGGER tell_created;
                INSERT INTO auth.users (id, app_id, environment, user_name, profile, disabled)
                SELECT gen_random_uuid(), '\(app)', 'live', 'user' || n, jsonb_build_object('text', repeat('x', 8000)), n = 7
                FROM generate_series(1, 250) AS n;
                ALTER TABLE auth.users ENABLE TRIGGER tell_created
                """)
            let queue = JobQueue(postgres: client.auth.postgres, schema: "auth")
            try await queue.enqueue(PublishAllUsers.self, .init())
            try await eventually("all users are published") {
                Set(storage.documentCalls.flatMap(\.users).compactMap { $0.shown?.userName }).count == 249
            }
            try await eventually("the disabled user is published") {
                storage.documentCalls.flatMap(\.users).contains { $0.hidden?.userName == "user7" }
            }
            #expect(storage.documentCalls.allSatisfy { $0.users.count <= UserDocuments.maximumUsers })
            let sizes = storage.documentCalls.map { $0.users.reduce(0) { $0 + ($1.shown?.profile.utf8.count ?? 0) } }
            #expect((sizes.max() ?? 0) <= 1 << 20)
            try await eventually("the job has reported") {
                try await client.count("SELECT done FROM auth.jobs WHERE kind = 'users.publish'") == 250
            }
        }
    }
}
