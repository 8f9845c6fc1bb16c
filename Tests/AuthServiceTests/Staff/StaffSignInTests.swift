import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct StaffSignInTests {
    @Test func `Staff sign in, refresh and sign out; each sign-in is counted and logged`() async throws {
        try await StaffClient.run { client, root async throws in
            let me = try await client.send("GET", "me", as: root)
            #expect(me.status == 200 && me.string("userName") == "root" && me["isAdministrator"] == "true", "\(me)")
            #expect(!me.text.contains("argon2") && me["password"] == nil)
            #expect(try await client.log() == ["root sign-in staff \(root.sessionID)"])
            let refreshed = try StaffTokens(try await client.refresh(root.refresh))
            #expect(refreshed.sessionID == root.sessionID && refreshed.refresh != root.refresh)
            #expect(try await client.send("POST", "auth/logout", as: refreshed).status == 204)
            #expect(try await client.refresh(refreshed.refresh).isProblem(.invalidToken))
            #expect(try await client.log() == ["root sign-out staff \(root.sessionID)"])
            #expect(
                try await client.count(
                    "SELECT count(*) FROM auth.revocations WHERE session_id = \(UUID(uuidString: root.sessionID))") == 1
            )
            let months = try await client.send("GET", "sign-ins?by=month", as: root)
            #expect(months["data.0.count"] == "1" && months.string("data.0.staff.0.userName") == "root", "\(months)")
        }
    }

    @Test func `Names are case-insensitive, and nothing else is accepted`() async throws {
        try await StaffClient.run { client, _ async throws in
            #expect(try await client.logIn("ROOT").status == 200)
            let answers = [
                try await client.logIn("root", password: "wrong horse battery"), try await client.logIn("nobody"),
                try await client.logIn("nobody", password: "wrong horse battery"),
            ]
            for answer in answers {
                #expect(answer.isProblem(.signInFailed) && answer["detail"] == answers[0]["detail"], "\(answer)")
            }
            #expect(try await client.logIn("no such name!").isProblem(.invalidBody, field: "userName"))
            let body = #"{"userName":"root","password":"x","isAdministrator":true}"#
            #expect(try await client.send("POST", "auth/login", body).isProblem(.invalidBody, field: "isAdministrator"))
            #expect(try await client.count("SELECT count(*) FROM auth.staff_sessions") == 2)
        }
    }

    @Test func `Disabled staff are refused like unknown ones, and guessing is slowed down`() async throws {
        try await StaffClient.run { client, root async throws in
            let id = try await client.make("berta", by: root)
            let berta = try await client.signIn("berta")
            #expect(try await client.send("PATCH", "staff/\(id)", #"{"disabled":true}"#, as: root).status == 200)
            let refused = try await client.logIn("berta")
            let unknown = try await client.logIn("nobody")
            #expect(refused.isProblem(.signInFailed) && refused["detail"] == unknown["detail"])
            #expect(try await client.refresh(berta.refresh).isProblem(.invalidToken))
            var answer = refused
            // The pauses grow beyond what a slow machine takes for a request.
            for _ in 0..<14 where answer.status != 429 {
                answer = try await client.logIn("root", password: "guess number 1")
            }
            #expect(answer.isProblem(.tooManyRequests) && answer.header("retry-after") != nil, "\(answer)")
            // The correct password is also delayed, so that trying does not reveal it.
            try await client.auth.postgres.execute("UPDATE auth.attempts SET not_before = now() + interval '1 hour'")
            #expect(try await client.logIn("root").isProblem(.tooManyRequests))
        }
    }

    @Test func `Many wrong names from one address are slowed down, other addresses are not`() async throws {
        try await StaffClient.run { client, _ async throws in
            var statuses: Set<Int> = []
            for number in 0..<30 where !statuses.contains(429) {
                statuses.insert(try await client.logIn("nobody\(number)").status)
            }
            #expect(statuses == [401, 429])
            var other = client
            other.address = "0:ffffc0000208"
            #expect(try await other.logIn("root").status == 200)
        }
    }

    @Test func `Failed sign-ins are logged with name and address, and strangers cannot flood the log`() async throws {
        try await StaffClient.run { client, _ async throws in
            #expect(try await client.logIn("root", password: "a wrong password").isProblem(.signInFailed))
            // An unknown name is not logged, as it may be a password typed into the wrong field.
            #expect(try await client.logIn("hunter2hunter2").isProblem(.signInFailed))
            #expect(try await client.log(2) == ["unknown sign-in-failed staff", "root sign-in-failed staff"])
            let text: String = try await client.auth.postgres.query(
                "SELECT string_agg(l::text, '|') FROM auth.audit_log AS l")[0].decode(0)
            #expect(text.contains("192.0.2.7") && !text.contains("wrong password") && !text.contains("hunter2"))
            // With the attempts deleted, only the log's own limits per hour apply.
            for _ in 0..<40 {
                for name in ["root", "nobody"] {
                    try await client.auth.postgres.execute("DELETE FROM auth.attempts")
                    #expect(try await client.logIn(name, password: "wrong horse battery").isProblem(.signInFailed))
                }
            }
            func failures(_ name: String) async throws -> Int {
                try await client.count(
                    "SELECT count(*) FROM auth.audit_log WHERE action = 'sign-in-failed' AND staff_name = \(name)")
            }
            #expect(try await failures("root") == 10)
            #expect(try await failures("unknown") == 30)
        }
    }

    @Test func `A reused refresh token ends the session, a lost answer does not`() async throws {
        try await StaffClient.run { client, root async throws in
            let second = try StaffTokens(try await client.refresh(root.refresh))
            // Within ten seconds it counts as a lost answer.
            #expect(try StaffTokens(try await client.refresh(root.refresh)).refresh == second.refresh)
            let third = try StaffTokens(try await client.refresh(second.refresh))
            #expect(try await client.refresh(root.refresh).isProblem(.invalidToken))
            #expect(try await client.refresh(third.refresh).isProblem(.invalidToken))
            #expect(try await client.log() == ["root refresh-token-reused staff \(root.sessionID)"])
        }
    }

    @Test func `Tokens of users and staff are not interchangeable`() async throws {
        try await UserClient.run { users in
            let client = StaffClient(auth: users.auth)
            #expect(
                try await client.store.create(
                    userName: "root", password: Secret(StaffClient.password), isAdministrator: true))
            let (user, root) = (try await users.signUp(), try await client.signIn("root"))
            #expect(try await client.refresh(user.refresh).isProblem(.invalidToken))
            #expect(try await users.refresh(root.refresh).isProblem(.invalidToken))
            let ring = try await users.auth.ring(after: 0) { !$0.staff.isEmpty && !$0.signingKeys.isEmpty }
            let verifiers = ring.signingKeys.compactMap(AccessTokenVerifier.init)
            func isStaff(_ token: String) -> Bool {
                verifiers.contains { v in Array(token.utf8).withUnsafeBytes { v.staffToken(from: $0) } != nil }
            }
            func isUser(_ token: String) -> Bool {
                verifiers.contains { v in Array(token.utf8).withUnsafeBytes { v.token(from: $0) } != nil }
            }
            #expect(isStaff(root.access) && !isUser(root.access) && isUser(user.access) && !isStaff(user.access))
        }
    }

    @Test func `Other principals cannot use staff routes, and staff cannot use others`() async throws {
        try await StaffClient.run { client, root async throws in
            let app = try await client.auth.apps.create(name: "Shop")
            for kind in [Principal.Kind.client, .master, .ingest, .evaluation, .link, .service] {
                let caller = client.auth.gateway.acting(
                    as: Principal(
                        kind: kind, appID: app.id, appNumber: 1, environment: .live, credentialID: "c",
                        staff: StaffGrant(id: root.staffID, userName: "root", isAdministrator: true)))
                #expect(try await caller.get("/admin/staff").isProblem(.forbidden))
                let body = #"{"userName":"root","password":"\#(StaffClient.password)"}"#
                #expect(try await caller.post("/admin/auth/login", body).isProblem(.forbidden))
                #expect(
                    try await caller.post("/admin/auth/refresh", #"{"refreshToken":"\#(root.refresh)"}"#).isProblem(
                        .forbidden))
            }
            // These routes refuse requests without an access token.
            for path in ["me", "staff", "audit", "sessions", "sign-ins", "audit/export"] {
                #expect(try await client.send("GET", path).isProblem(.invalidToken))
            }
            let staff = client.auth.gateway.acting(
                as: Principal(
                    kind: .staff, appID: app.id, appNumber: 1, environment: .live, credentialID: "c",
                    staff: StaffGrant(id: root.staffID, userName: "root", isAdministrator: true)))
            for path in ["auth/me", "auth/sessions", "internal/keyring", "internal/revocations"] {
                let answer = try await staff.get("/" + path)
                #expect(answer.isProblem(.forbidden) || answer.isProblem(.invalidToken), "\(path)")
            }
            #expect(
                try await staff.post("/auth/signup", #"{"userName":"eve","password":"correct horse"}"#).isProblem(
                    .forbidden))
        }
    }

    @Test func `A session lasts thirty days if kept signed in, else half a day, and never more than ninety`()
        async throws
    {
        try await StaffClient.run { client, root async throws in
            let long = try await client.signIn("root", more: #","staySignedIn":true,"device":"Laptop""#)
            func hours(_ session: String) async throws -> Int {
                try await client.count(
                    "SELECT round(extract(epoch FROM expires - now()) / 3600)::int FROM auth.staff_sessions WHERE id = \(UUID(uuidString: session))"
                )
            }
            #expect(try await hours(root.sessionID) == 12)
            #expect(try await hours(long.sessionID) == 720)
            let refreshed = try StaffTokens(try await client.refresh(long.refresh))
            #expect(try await hours(long.sessionID) == 720)
            try await client.auth.postgres.execute(
                "UPDATE auth.staff_sessions SET created = now() - interval '80 days'")
            #expect(try await client.refresh(refreshed.refresh).status == 200)
            #expect(try await hours(long.sessionID) == 240)
            let list = try await client.send("GET", "sessions", as: root)
            #expect(list["count"] == "2" && list.text.contains(#""device": "Laptop""#), "\(list)")
            #expect(try await client.send("DELETE", "sessions?keep=current", as: root)["count"] == "1")
            #expect(try await client.send("DELETE", "sessions/\(long.sessionID)", as: root).isProblem(.sessionNotFound))
            #expect(try await client.send("DELETE", "sessions/\(root.sessionID)", as: root).status == 204)
            #expect(try await client.refresh(root.refresh).isProblem(.invalidToken))
        }
    }

    @Test func `Staff cannot end another's session`() async throws {
        try await StaffClient.run { client, root async throws in
            _ = try await client.make("berta", by: root)
            let berta = try await client.signIn("berta")
            #expect(
                try await client.send("DELETE", "sessions/\(root.sessionID)", as: berta).isProblem(.sessionNotFound))
            #expect(try await client.refresh(root.refresh).status == 200)
        }
    }
}
