import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Roles that users manage: managers, invitations, leaving.
@Suite struct GroupTests {
    /// `boss` manages `team` by id, the members of `leads` by their role; `lea` is one of them.
    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        try await app.change("leads", #"{"add":["lea"]}"#)
        try await app.change("staff", #"{"add":["sam"]}"#)
        try await app.change("team", #"{"add":["ann"],"managers":["boss","role:leads"]}"#)
        return app
    }

    @Test(arguments: ["boss", "lea"])
    func `managers add and remove members, which counts for rules at once`(_ manager: String) async throws {
        let app = try await Self.app()
        try await app.set(#"{"rules":{"find":["role:team"]}}"#, on: "Plans")
        let (manager, eve) = (app.user(manager), app.user("eve"))
        #expect(try await eve.get("/storage/Plans").isProblem(.forbidden))
        #expect(try await manager.put("/roles/team", #"{"add":["eve"]}"#).status == 204)
        #expect(try await eve.get("/storage/Plans").status == 200)
        let role = try await manager.get("/roles/team")
        #expect(role["members"] == #"["ann","eve"]"# && role["managers"] == #"["boss","role:leads"]"#, "\(role)")
        #expect(try await manager.put("/roles/team", #"{"remove":["eve"]}"#).status == 204)
        #expect(try await eve.get("/storage/Plans").isProblem(.forbidden))
    }

    @Test func `only managers change a role, and refusals do not reveal which roles exist`() async throws {
        let app = try await Self.app()
        for (caller, name) in [
            ("ann", "team"), ("eve", "team"), ("boss", "leads"), ("boss", "nothing"), ("sam", "staff"),
        ] {
            let user = app.user(caller)
            try await app.expectRefusal(.forbidden) { try await user.put("/roles/\(name)", #"{"add":["eve"]}"#) }
            try await app.expectRefusal(.forbidden) { try await user.get("/roles/\(name)") }
            try await app.expectRefusal(.forbidden) { try await user.post("/roles/\(name)/invitations", "{}") }
            try await app.expectRefusal(.forbidden) { try await user.get("/roles/\(name)/invitations") }
            let id = UUID().uuidString.lowercased()
            try await app.expectRefusal(.forbidden) { try await user.delete("/roles/\(name)/invitations/\(id)") }
        }
        let boss = app.user("boss")
        for body in [
            #"{"managers":["eve"]}"#, #"{"managers":[]}"#, #"{"add":["role:staff"]}"#, #"{"add":["role:leads"]}"#,
        ] {
            try await app.expectRefusal(.forbidden) { try await boss.put("/roles/team", body) }
        }
        for (method, path) in [("DELETE", "/roles/team"), ("GET", "/roles")] {
            try await app.expectRefusal(.forbidden) { try await boss.send(method, path) }
        }
        for (method, path, body) in [
            ("PUT", "/roles/team", "{}"), ("GET", "/roles/team", nil), ("POST", "/roles/team/invitations", "{}"),
            ("DELETE", "/roles/team/members/me", nil), ("POST", "/auth/me/roles", #"{"code":"x"}"#),
        ] as [(String, String, String?)] {
            try await app.expectRefusal(.invalidToken) { try await app.client.send(method, path, body) }
        }
        try await app.expectRefusal(.roleNotFound) { try await app.master.post("/roles/nothing/invitations", "{}") }
        let tooMany = Array(repeating: #""u""#, count: 101).joined(separator: ",")
        try await app.expectRefusal(.limitExceeded, field: "managers") {
            try await app.master.put("/roles/team", #"{"managers":[\#(tooMany)]}"#)
        }
    }

    @Test func `a user who manages both roles may nest one in the other`() async throws {
        let app = try await Self.app()
        try await app.change("staff", #"{"managers":["boss"]}"#)
        let boss = app.user("boss")
        #expect(try await boss.put("/roles/team", #"{"add":["role:staff"]}"#).status == 204)
        #expect(try await app.user("sam").get("/auth/me/roles")["data"] == #"["staff","team"]"#)
        try await app.change("team", #"{"managers":["role:leads"]}"#)
        try await app.expectRefusal(.forbidden) { try await boss.put("/roles/team", #"{"add":["x"]}"#) }
        // A user who managed a role through another role no longer does after leaving that one.
        try await app.change("leads", #"{"remove":["lea"]}"#)
        try await app.expectRefusal(.forbidden) { try await app.user("lea").put("/roles/team", #"{"add":["x"]}"#) }
    }

    @Test func `members may leave a role by themselves`() async throws {
        let app = try await Self.app()
        let ann = app.user("ann")
        #expect(try await ann.delete("/roles/team/members/me").status == 204)
        #expect(try await ann.get("/auth/me/roles")["count"] == "0")
        for name in ["team", "leads", "nothing"] {
            #expect(try await ann.delete("/roles/\(name)/members/me").status == 204)
        }
        #expect(try await app.master.get("/roles/leads")["members"] == #"["lea"]"#)
    }

    @Test func `an invitation makes members, as often as it may be used`() async throws {
        let app = try await Self.app()
        let invitation = try await app.user("boss").post("/roles/team/invitations", #"{"uses":2}"#)
        #expect(
            invitation.status == 201 && invitation["inviter"] == #""boss""# && invitation["uses"] == "2",
            "\(invitation)")
        let code = try #require(invitation.string("code"))
        #expect(try await app.join("eve", code.lowercased().replacing("-", with: " "))["role"] == #""team""#)
        #expect(try await app.user("eve").get("/auth/me/roles")["data"] == #"["team"]"#)
        // A member who joins again does not use up the invitation.
        for user in ["eve", "ann"] { #expect(try await app.join(user, code).status == 200) }
        let open = try await app.user("lea").get("/roles/team/invitations")
        #expect(open["data.0.usesLeft"] == "1" && !open.text.contains("code") && !open.text.contains(code), "\(open)")
        #expect(try await app.join("ben", code).status == 200)
        #expect(try await app.join("dan", code).isProblem(.invalidBody, field: "code"))
        #expect(try await app.user("lea").get("/roles/team/invitations")["count"] == "0")
        #expect(try await app.master.get("/roles/team")["members"] == #"["ann","ben","eve"]"#)
        let (digests, text) = (try app.space().own("_role_invitations"), code.replacing("-", with: ""))
        let stored = try await app.superuser.query("SELECT string_agg(i::text, ' ') FROM \(digests) AS i")
        #expect(try stored[0].decode(0, as: String.self).contains(text) == false)
    }

    @Test func `unknown, used, expired and revoked codes, and those of former managers, get the same answer`()
        async throws
    {
        let app = try await Self.app()
        func code(_ user: String) async throws -> (code: String, id: String) {
            let answer = try await app.user(user).post("/roles/team/invitations", "{}")
            return (try #require(answer.string("code")), try #require(answer.string("id")))
        }
        let (used, expired, revoked, former) = (
            try await code("boss"), try await code("boss"), try await code("boss"), try await code("lea")
        )
        #expect(try await app.join("one", used.code).status == 200)
        #expect(try await app.user("lea").delete("/roles/team/invitations/\(revoked.id)").status == 204)
        #expect(try await app.user("lea").delete("/roles/team/invitations/\(revoked.id)").isProblem(.notFound))
        try await app.change("leads", #"{"remove":["lea"]}"#)
        let table = try app.space().own("_role_invitations")
        try await app.superuser.execute(
            "UPDATE \(table) SET expires = now() - interval '1 second' WHERE id::text = \(expired.id)")
        var answers: Set<String> = []
        for code in [used.code, expired.code, revoked.code, former.code, RoleInvitationCode.random().text, "", "x"] {
            let answer = try await app.join("eve", code)
            #expect(answer.isProblem(.invalidBody, field: "code"), "\(answer)")
            answers.insert(answer.text)
        }
        #expect(answers.count == 1)
        #expect(try await app.master.get("/roles/team")["members"] == #"["ann","one"]"#)
        // The server's own invitations need no manager.
        let own = try await app.master.post("/roles/team/invitations", #"{"days":30}"#)
        #expect(own["inviter"] == nil)
        #expect(try await app.join("two", try #require(own.string("code"))).status == 200)
    }

    @Test func `wrong codes are limited for each user, also in parallel requests`() async throws {
        let app = try await Self.app()
        let invitation = try await app.master.post("/roles/team/invitations", #"{"uses":9}"#)
        let code = try #require(invitation.string("code"))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...15 { group.addTask { try await app.join("eve", RoleInvitationCode.random().text).status } }
            return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [400: 10, 429: 5])
        let late = try await app.join("eve", code)
        #expect(late.isProblem(.tooManyRequests) && late.header("retry-after") == "600", "\(late)")
        #expect(try await app.join("ben", code).status == 200)
        let guesses = try app.space().own("_role_guesses")
        try await app.superuser.execute("UPDATE \(guesses) SET since = since - interval '11 minutes'")
        #expect(try await app.join("eve", code).status == 200)
        #expect(try await app.superuser.query("SELECT FROM \(guesses)").isEmpty)
    }

    @Test func `only one of two users of a single code becomes a member`() async throws {
        let app = try await Self.app()
        for round in 1...5 {
            let invitation = try await app.master.post("/roles/team/invitations", "{}")
            let code = try #require(invitation.string("code"))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for taker in 1...4 { group.addTask { try await app.join("u\(round).\(taker)", code).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }.sorted()
            }
            #expect(statuses == [200, 400, 400, 400])
        }
        let members = try app.space().own("_role_members")
        let rows = try await app.superuser.query("SELECT FROM \(members) WHERE role = 'team' AND member LIKE 'u%'")
        #expect(rows.count == 5)
    }

    @Test func `joining and kicking are serialized, and so are using a code and revoking the inviter's right`()
        async throws
    {
        let app = try await Self.app()
        let (roles, members) = (try app.space().own("_roles"), try app.space().own("_role_members"))
        let invitation = try await app.user("boss").post("/roles/team/invitations", #"{"uses":9}"#)
        let code = try #require(invitation.string("code"))
        // Both wait for the role's row, which this transaction locks like an uncommitted change.
        func whileLocked(_ body: @escaping @Sendable () async throws -> Answer, _ change: PostgresQuery) async throws
            -> Answer
        {
            let role = try app.space().role
            let task: Task<Answer, any Error> = try await app.postgres.withTransaction(role: role) { transaction in
                try await transaction.execute("SELECT FROM \(roles) WHERE name = 'team' FOR NO KEY UPDATE")
                let task = Task { try await body() }
                try await app.waitUntilStatementsWait()
                try await transaction.execute(change)
                return task
            }
            return try await task.value
        }
        let kicked = try await whileLocked(
            { try await app.join("eve", code) }, "DELETE FROM \(members) WHERE role = 'team' AND member = 'eve'")
        #expect(kicked.status == 200)
        #expect(try await app.user("boss").put("/roles/team", #"{"remove":["eve"]}"#).status == 204)
        #expect(try await app.superuser.query("SELECT FROM \(members) WHERE member = 'eve'").isEmpty)
        let managers = try app.space().own("_role_managers")
        let late = try await whileLocked(
            { try await app.join("eve", code) }, "DELETE FROM \(managers) WHERE manager = 'boss'")
        #expect(late.isProblem(.invalidBody, field: "code"), "\(late)")
        #expect(try await app.superuser.query("SELECT FROM \(members) WHERE member = 'eve'").isEmpty)
    }

    @Test func `members, roles of a user and open invitations are limited`() async throws {
        let app = try await Self.app()
        let (roles, members) = (try app.space().own("_roles"), try app.space().own("_role_members"))
        try await app.superuser.execute("INSERT INTO \(roles) (name) SELECT 'r' || n FROM generate_series(1, 500) AS n")
        try await app.superuser.execute(
            "INSERT INTO \(members) (role, member) SELECT 'r' || n, 'eve' FROM generate_series(1, 500) AS n")
        let invitation = try await app.master.post("/roles/team/invitations", #"{"uses":9}"#)
        let code = try #require(invitation.string("code"))
        try await app.expectRefusal(.limitExceeded) {
            try await app.user("boss").put("/roles/team", #"{"add":["ben","eve"]}"#)
        }
        #expect(try await app.join("eve", code).isProblem(.limitExceeded))
        #expect(try await app.user("boss").get("/roles/team/invitations")["data.0.usesLeft"] == "9")
        try await app.superuser.execute(
            "INSERT INTO \(members) (role, member) SELECT 'team', 'm' || n FROM generate_series(1, 99999) AS n")
        try await app.expectRefusal(.limitExceeded) {
            try await app.user("boss").put("/roles/team", #"{"add":["ben"]}"#)
        }
        #expect(try await app.user("boss").put("/roles/team", #"{"remove":["m1"]}"#).status == 204)
        #expect(try await app.user("boss").put("/roles/team", #"{"add":["ben"]}"#).status == 204)
        for _ in 2...RoleInvitationStore.maximumOpen {
            #expect(try await app.master.post("/roles/team/invitations", "{}").status == 201)
        }
        try await app.expectRefusal(.limitExceeded) { try await app.user("boss").post("/roles/team/invitations", "{}") }
        for body in [#"{"uses":0}"#, #"{"uses":1001}"#, #"{"days":0}"#, #"{"days":31}"#, #"{"code":"x"}"#] {
            try await app.expectRefusal(.invalidBody) {
                try await app.user("boss").post("/roles/team/invitations", body)
            }
        }
    }

    @Test func `an invitation by mail is for one user, and is withdrawn if the mail cannot be requested`() async throws
    {
        let app = try await Self.app()
        let boss = app.user("boss")
        for (body, field) in [
            (#"{"email":"eve@example.org","uses":2}"#, "uses"), (#"{"language":"de"}"#, "email"),
            (#"{"link":"shop://join/{token}"}"#, "email"),
            (#"{"email":"\#(String(repeating: "e", count: 255))"}"#, "email"), (#"{"email":7}"#, "email"),
        ] {
            try await app.expectRefusal(.invalidBody, field: field) {
                try await boss.post("/roles/team/invitations", body)
            }
        }
        // The tests of storage run without auth.
        try await app.expectRefusal(.unavailable) {
            try await boss.post("/roles/team/invitations", #"{"email":"eve@example.org"}"#)
        }
        try await app.expectRefusal(.forbidden) {
            try await app.user("eve").post("/roles/team/invitations", #"{"email":"eve@example.org"}"#)
        }
    }

    @Test(arguments: [
        (RoleInvitationMail.Outcome.invalidEmail, ErrorCode.invalidBody), (.invalidLanguage, .invalidBody),
        (.unknownLink, .invalidBody), (.noMailServer, .notImplemented), (.tooManyMails, .tooManyRequests),
    ])
    func `a refusal by auth reaches the manager`(_ outcome: RoleInvitationMail.Outcome, _ code: ErrorCode) async {
        let mail = RoleInvitationMail(
            app: "shop", environment: .live, email: "eve", role: "team", code: "x", secondsLeft: 60, inviter: nil,
            language: nil, link: nil)
        let error = await #expect(throws: ServiceError.self) {
            try await RoleInvitationMailing { _ in outcome }.send(mail)
        }
        #expect(error?.code == code)
    }

    @Test(arguments: [
        (OutgoingFailure.unreachable("refused"), ErrorCode.unavailable), (.timeout, .upstreamTimeout),
        (.connectionLost("reset"), .upstreamTimeout),
    ])
    func `a mail that auth may have accepted is distinguished from one that it did not`(
        _ failure: OutgoingFailure, _ code: ErrorCode
    ) async {
        let mail = RoleInvitationMail(
            app: "shop", environment: .live, email: "eve", role: "team", code: "x", secondsLeft: 60, inviter: nil,
            language: nil, link: nil)
        let error = await #expect(throws: ServiceError.self) {
            try await RoleInvitationMailing { _ in throw failure }.send(mail)
        }
        #expect(error?.code == code)
    }

    @Test func `erasing a user ends memberships, managing and invitations`() async throws {
        let app = try await Self.app()
        let invitation = try await app.user("boss").post("/roles/team/invitations", "{}")
        let code = try #require(invitation.string("code"))
        try await app.change("team", #"{"add":["boss"]}"#)
        let request = UserDataRequest(app: app.id, environment: .live, user: "boss")
        let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        let export = try await app.acting(as: .service("auth")).post("/internal/users/export", body)
        #expect(export.text.contains(#""kind":"managedRole""#), "\(export)")
        #expect(try await app.acting(as: .service("auth")).post("/internal/users/erase", body).status == 200)
        let role = try await app.master.get("/roles/team")
        #expect(role["members"] == #"["ann"]"# && role["managers"] == #"["role:leads"]"#, "\(role)")
        #expect(try await app.join("eve", code).isProblem(.invalidBody))
        try await app.expectRefusal(.forbidden) { try await app.user("boss").put("/roles/team", "{}") }
    }

    @Test func `a wiped environment has neither managers nor invitations, and a deleted role none`() async throws {
        let app = try await Self.app()
        let master = app.acting(as: app.principal(.master, .test))
        #expect(try await master.put("/roles/team", #"{"managers":["boss"]}"#).status == 204)
        #expect(try await master.post("/roles/team/invitations", "{}").status == 201)
        #expect(try await app.master.delete("/environment").status == 204)
        #expect(try await master.get("/roles/team").isProblem(.roleNotFound))
        #expect(try await app.master.post("/roles/team/invitations", "{}").status == 201)
        #expect(try await app.master.delete("/roles/team").status == 204)
        #expect(try await app.superuser.query("SELECT FROM \(app.space().own("_role_invitations"))").isEmpty)
    }
}

extension StorageApp {
    fileprivate func change(_ role: String, _ body: String) async throws {
        let answer = try await master.put("/roles/\(role)", body)
        try #require(answer.status == 204, "\(answer)")
    }

    fileprivate func join(_ user: String, _ code: String) async throws -> Answer {
        try await self.user(user).post("/auth/me/roles", #"{"code":"\#(code)"}"#)
    }
}

extension Answer {
    fileprivate func string(_ path: String) -> String? {
        guard let text = self[path], case .string(let value)? = try? JSONValue(parsing: text.utf8) else { return nil }
        return value
    }
}
