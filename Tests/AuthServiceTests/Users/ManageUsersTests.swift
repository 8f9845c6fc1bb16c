import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct ManageUsersTests {
    @Test func `The app's server lists users page by page, and finds and reads them`() async throws {
        try await UserClient.run { client in
            var made: [String] = []
            for number in 0..<5 {
                made.append(
                    try await client.signUp("user\(number)", more: #","email":"u\#(number)@example.org""#).userID)
            }
            let first = try await client.master("GET", "users?limit=2")
            #expect(
                first["count"] == "2" && first.string("data.0.id") == made[0] && first.string("next") == made[1],
                "\(first)")
            let second = try await client.master("GET", "users?limit=3&after=\(made[1])")
            #expect(
                second["count"] == "3" && second["next"] == nil && second.string("data.2.id") == made[4], "\(second)")
            #expect(try await client.master("GET", "users?userName=USER3").string("data.0.id") == made[3])
            #expect(try await client.master("GET", "users?email=u2@example.org").string("data.0.id") == made[2])
            #expect(try await client.master("GET", "users?userName=nobody")["count"] == "0")
            let one = try await client.master("GET", "users/\(made[0])")
            #expect(one["email"] == #""u0@example.org""# && one["private"] == "{}", "\(one)")
            for query in ["limit=0", "limit=1001", "limit=x", "after=x", "color=red"] {
                #expect(try await client.master("GET", "users?" + query).isProblem(.invalidParameter), "\(query)")
            }
            var other = client
            other.environment = .test
            #expect(try await other.master("GET", "users")["count"] == "0")
            #expect(try await other.master("GET", "users/\(made[0])").isProblem(.userNotFound))
        }
    }

    @Test func `Disabling a user or setting a password ends all sessions`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            #expect(
                try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":true}"#)["disabled"] == "true")
            #expect(try await client.refresh(anna.refresh).isProblem(.invalidToken))
            #expect(try await client.send("GET", "users/\(anna.userID)").isProblem(.userNotFound))
            #expect(try await client.logIn().isProblem(.signInFailed))
            #expect(try await client.master("PATCH", "users/\(anna.userID)", #"{"disabled":false}"#).status == 200)
            let again = try Tokens(try await client.logIn())
            #expect(
                try await client.master("PATCH", "users/\(anna.userID)", #"{"password":"set by staff"}"#).status == 200)
            #expect(try await client.refresh(again.refresh).isProblem(.invalidToken))
            #expect(try await client.logIn(password: "set by staff").status == 200)
            #expect(try await client.master("DELETE", "users/\(anna.userID)").status == 202)
            #expect(try await client.master("DELETE", "users/\(anna.userID)").isProblem(.userNotFound))
        }
    }

    /// A sign-in with the old password that begins before the change of the password and ends after it must not leave a
    /// session.
    @Test func `No sign-in succeeds with the old password while it changes`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            let user = try #require(UUID(uuidString: anna.userID))
            let session = UUID()
            // The sign-in's statement, held before its commit.
            let (inserted, didInsert) = AsyncStream.makeStream(of: Void.self)
            let (released, commit) = AsyncStream.makeStream(of: Void.self)
            // With a separate client, because the service's would have no connection left for the change.
            let other = client.auth.database.client(for: "auth")
            async let logIn: Void = other.withTransaction { transaction in
                try await transaction.execute("UPDATE auth.users SET last_sign_in = now() WHERE id = \(user)")
                try await transaction.execute(
                    "INSERT INTO auth.sessions (id, user_id, expires) VALUES (\(session), \(user), now() + interval '1 day')"
                )
                didInsert.finish()
                for await _ in released {}
            }
            for await _ in inserted {}
            async let change = client.master("PATCH", "users/\(anna.userID)", #"{"password":"set by staff"}"#)
            // Wait until the change waits for the row.
            try await client.auth.database.withSuperuser { superuser in
                let waiting: PostgresQuery =
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                try await eventually("the change waits") { try await !superuser.query(waiting).isEmpty }
            }
            commit.finish()
            try await logIn
            await other.close()
            let changed = try await change
            #expect(changed.status == 200, "\(changed)")
            #expect(try await client.count("SELECT count(*) FROM auth.sessions WHERE revoked IS NULL") == 0)
        }
    }

    @Test func `A password needs a name or an address`() async throws {
        try await UserClient.run { client in
            let nobody = try Tokens(try await client.send("POST", "anonymous"))
            let refused = try await client.master("PATCH", "users/\(nobody.userID)", #"{"password":"set by staff"}"#)
            #expect(refused.isProblem(.invalidBody, field: "password"), "\(refused)")
            #expect(
                try await client.master(
                    "PATCH", "users/\(nobody.userID)", #"{"password":"set by staff","userName":"dora"}"#
                ).status == 200)
            #expect(try await client.logIn("dora", password: "set by staff").status == 200)
        }
    }

    @Test func `A missing address cannot be verified`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            let answer = try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#)
            #expect(answer.isProblem(.invalidBody, field: "emailVerified"), "\(answer)")
            #expect(try await client.send("GET", "me", as: anna)["emailVerified"] == "false")
            #expect(
                try await client.master("PATCH", "users/\(UUID())", #"{"emailVerified":true}"#).isProblem(.userNotFound)
            )
            let both = try await client.master(
                "PATCH", "users/\(anna.userID)", #"{"email":"anna@example.org","emailVerified":true}"#)
            #expect(both["emailVerified"] == "true", "\(both)")
        }
    }

    @Test func `Apps on devices cannot manage users`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp(), berta = try await client.signUp("berta")
            let calls: [(String, String, String?)] = [
                ("GET", "users", nil), ("PATCH", "users/\(berta.userID)", #"{"disabled":true}"#),
                ("DELETE", "users/\(berta.userID)", nil),
                ("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#), ("GET", "users?email=a@b.org", nil),
            ]
            for (method, path, body) in calls {
                #expect(try await client.send(method, path, body, as: anna).isProblem(.forbidden), "\(method) \(path)")
            }
            #expect(
                try await client.count("SELECT count(*) FROM auth.users WHERE NOT disabled AND NOT email_verified") == 2
            )
        }
    }
}
