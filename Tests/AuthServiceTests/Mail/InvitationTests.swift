import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct InvitationTests {
    private func signUp(_ client: UserClient, _ name: String, _ code: String?) async throws -> Answer {
        let invitation = code.map { #","invitation":"\#($0)""# } ?? ""
        return try await client.send(
            "POST", "signup", #"{"userName":"\#(name)","password":"correct horse"\#(invitation)}"#)
    }

    @Test func `If invitations are required, sign-up needs one, and each can be used once`() async throws {
        try await UserClient.run { client in
            try await client.set(#""inviteOnly":true"#)
            #expect(try await signUp(client, "ada", nil).isProblem(.invalidBody, field: "invitation"))
            #expect(try await signUp(client, "ada", "0000-0000-0000-0000").isProblem(.invalidBody, field: "invitation"))
            #expect(try await client.send("POST", "anonymous").isProblem(.forbidden))
            let made = try await client.master("POST", "invitations", #"{"days":1}"#)
            let code = try #require(made.string("code"))
            #expect(
                made.status == 201 && code.count == 19 && made["email"] == "null"
                    && made.header("cache-control") == "no-store", "\(made)")
            // The code is not valid in the other environment.
            var test = client
            test.environment = .test
            #expect(try await signUp(test, "ada", code).isProblem(.invalidBody, field: "invitation"))
            let typed = code.uppercased().replacing("-", with: " ")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<4 { group.addTask { try await signUp(client, "ada\(number)", typed).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201, 400, 400, 400])
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 1)
            let list = try await client.master("GET", "invitations")
            #expect(list["count"] == "1" && list["data.0.used"] != "null" && !list.text.contains(code), "\(list)")
        }
    }

    @Test func `What another instance has just allowed is not refused`() async throws {
        try await UserClient.run { client in
            let space = AppSpace(appID: client.app.id, environment: .live)
            let other = AppSettingsStore(postgres: client.auth.postgres)
            try await client.set(#""inviteOnly":true"#)
            let refusal = await #expect(throws: ServiceError.self) {
                _ = try await other.current(in: space) { try $0.checkAnonymousSignUp() }
            }
            #expect(refusal?.code == .forbidden)
            try await client.set(#""inviteOnly":false"#)
            let settings = try await other.current(in: space) { try $0.checkAnonymousSignUp() }
            #expect(!settings.inviteOnly)
        }
    }

    @Test func `A refused name does not use up the invitation, and expired or revoked ones are invalid`()
        async throws
    {
        try await UserClient.run { client in
            _ = try await client.signUp("ada")
            try await client.set(#""inviteOnly":true"#)
            let made = try await client.master("POST", "invitations")
            let code = try #require(made.string("code"))
            #expect(try await signUp(client, "ada", code).isProblem(.conflict, field: "userName"))
            _ = try await client.auth.postgres.execute(
                "UPDATE auth.invitations SET expires = now() - interval '1 second'")
            #expect(try await signUp(client, "bob", code).isProblem(.invalidBody, field: "invitation"))
            _ = try await client.auth.postgres.execute("UPDATE auth.invitations SET expires = now() + interval '1 day'")
            let id = try #require(made.string("id"))
            #expect(try await client.master("DELETE", "invitations/\(id)").status == 204)
            #expect(try await signUp(client, "bob", code).isProblem(.invalidBody, field: "invitation"))
            #expect(try await client.master("DELETE", "invitations/\(UUID())").isProblem(.notFound))
            #expect(try await client.send("POST", "invitations").isProblem(.forbidden))
            #expect(try await client.send("GET", "invitations").isProblem(.forbidden))
            #expect(
                try await client.master("POST", "invitations", #"{"email":"ada@example.org"}"#).isProblem(
                    .notImplemented))
            #expect(
                try await client.master("POST", "invitations", #"{"days":91}"#).isProblem(.invalidBody, field: "days"))
            #expect(
                try await client.master("GET", "invitations?before=x").isProblem(.invalidParameter, field: "before"))
        }
    }

    @Test(.enabled(if: MailServer.isAvailable))
    func `An invitation by mail is valid for its address only, and verifies it`()
        async throws
    {
        try await UserClient.runWithMail(#""inviteOnly":true,"requireVerifiedEmail":true"#) { client in
            let address = UserClient.address()
            let made = try await client.master("POST", "invitations", #"{"email":"\#(address)","language":"de"}"#)
            #expect(made.status == 201 && made["code"] == nil && made.string("email") == address, "\(made)")
            let mail = try await MailServer.shared.mail(to: address)
            let code = try #require(mail.text.firstMatch(of: /[0-9a-z]{4}(-[0-9a-z]{4}){3}/).map { String($0.0) })
            #expect(
                mail.subject == "Einladung zu Shop" && mail.text.contains("shop://auth?kind=invitation&token=\(code)"),
                "\(mail)")
            func signUp(_ email: String) async throws -> Answer {
                try await client.send(
                    "POST", "signup", #"{"email":"\#(email)","password":"correct horse","invitation":"\#(code)"}"#)
            }
            #expect(try await signUp(UserClient.address("eve")).isProblem(.invalidBody, field: "invitation"))
            let answer = try await signUp(address)
            #expect(answer.status == 201 && answer["user.emailVerified"] == "true", "\(answer)")
        }
    }

    private func order(_ client: UserClient, to email: String, _ change: (inout RoleInvitationMail) -> Void = { _ in })
        async throws -> RoleInvitationMail.Outcome
    {
        var mail = RoleInvitationMail(
            app: client.app.id, environment: .live, email: email, role: "Lions", code: "K7QX-09AB-K7QX-09AB",
            secondsLeft: 7_200, inviter: "ann", language: nil, link: nil)
        change(&mail)
        let body = String(decoding: try JSONEncoder().encode(mail), as: UTF8.self)
        let answer = try await client.auth.gateway.post("/internal/mail/role-invitations", body)
        try #require(answer.status == 200, "\(answer)")
        return try JSONDecoder().decode(RoleInvitationMail.Answer.self, from: Data(answer.text.utf8)).outcome
    }

    @Test(.enabled(if: MailServer.isAvailable))
    func `Storage's invitations to a role are mailed, and their codes cannot be read in the database`() async throws {
        try await UserClient.runWithMail { client in
            let (late, ada) = (UserClient.address("later"), UserClient.address())
            #expect(try await order(client, to: late) == .ordered)
            let stored = try await client.auth.postgres.query("SELECT parameters::text FROM auth.jobs")
            #expect(!stored.isEmpty)
            for row in stored { #expect(!(try row.decode(0, as: String.self)).contains("K7QX")) }
            #expect(try await order(client, to: ada) { $0.language = "de-AT" } == .ordered)
            let mail = try await MailServer.shared.mail(to: ada)
            #expect(
                mail.subject == "Einladung zu Lions bei Shop" && mail.text.contains("2 Stunden")
                    && mail.text.contains("shop://auth?kind=role-invitation&token=K7QX-09AB-K7QX-09AB"), "\(mail)")
            #expect(try await order(client, to: "ada") == .invalidEmail)
            #expect(try await order(client, to: ada) { $0.language = "?" } == .invalidLanguage)
            #expect(try await order(client, to: ada) { $0.link = "https://evil.example/{token}" } == .unknownLink)
            let gone = UserClient.address("gone")
            #expect(try await order(client, to: gone) { $0.secondsLeft = 0 } == .ordered)
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: gone).isEmpty)
        }
    }

    @Test(.enabled(if: MailServer.isAvailable))
    func `A user orders a limited number of invitations an hour, whatever the addresses`() async throws {
        try await UserClient.runWithMail { client in
            var outcomes: [RoleInvitationMail.Outcome] = []
            for number in 1...OrderRoleInvitationMail.mailsPerInviterAndHour + 1 {
                outcomes.append(try await order(client, to: UserClient.address("a\(number)")))
            }
            let most = OrderRoleInvitationMail.mailsPerInviterAndHour
            #expect(outcomes == Array(repeating: .ordered, count: most) + [.tooManyMails])
            for inviter in ["ben", nil] {
                let outcome = try await order(client, to: UserClient.address()) { $0.inviter = inviter }
                #expect(outcome == .ordered)
            }
            let counts = MailCountStore(postgres: client.auth.postgres)
            #expect(try await counts.admit(["nothing"], limit: 0) == false)
            #expect(try await counts.admit(["nothing"], limit: 1))
            #expect(try await counts.admit(["nothing"], limit: 1) == false)
        }
    }

    @Test func `Without a mail server no invitation is mailed, and only services may request one`() async throws {
        try await UserClient.run { client in
            #expect(try await order(client, to: "ada@example.org") == .noMailServer)
            let refused = try await client.auth.gateway.acting(as: nil).post("/internal/mail/role-invitations", "{}")
            #expect(refused.isProblem(.unauthorized), "\(refused)")
        }
    }

    @Test func `Addresses of disposable mailboxes are refused if the app says so`() async throws {
        try await UserClient.run { client in
            let body = #"{"email":"ada@x.mailinator.com","password":"correct horse"}"#
            try await client.set(#""refuseDisposable":true"#)
            let refused = try await client.send("POST", "signup", body)
            #expect(refused.isProblem(.invalidBody, field: "email"), "\(refused)")
            let nobody = try Tokens(try await client.send("POST", "anonymous"))
            #expect(
                try await client.send("POST", "me/upgrade", body, as: nobody).isProblem(.invalidBody, field: "email"))
            let ada = try await client.signUp("ada")
            let change = try await client.send("PUT", "me/email", body, as: ada)
            #expect(change.isProblem(.invalidBody, field: "email"), "\(change)")
            try await client.set(#""refuseDisposable":false"#)
            #expect(try await client.send("POST", "signup", body).status == 201)
        }
    }
}
