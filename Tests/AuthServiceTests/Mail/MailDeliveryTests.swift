import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// Which server sends mail with which texts, and what happens to refused mail.
@Suite(.enabled(if: MailServer.isAvailable)) struct MailDeliveryTests {
    private func state(_ client: UserClient, of address: String) async throws -> (
        state: String, attempt: Int, code: String?
    ) {
        let row = try await client.auth.postgres.query(
            "SELECT state, attempt, error_code FROM auth.jobs WHERE parameters ->> 'email' = \(address) ORDER BY id DESC LIMIT 1"
        )[0]
        return (try row.decode(0), try row.decode(1), try row.decode(2))
    }

    @Test func `Temporary refusals are retried with a new code, permanent ones are not`()
        async throws
    {
        try await UserClient.runWithMail { client in
            let late = UserClient.address("later"), refused = UserClient.address("refuse")
            _ = try await client.signUpByAddress(late)
            _ = try await client.signUpByAddress(refused)
            try await eventually("the mail was tried once") { try await state(client, of: late).code != nil }
            let waiting = try await state(client, of: late)
            #expect(waiting.state == "waiting" && waiting.attempt == 1 && waiting.code == "mail-refused")
            // Moves the time instead of waiting.
            _ = try await client.auth.postgres.execute("UPDATE auth.jobs SET due = now() WHERE state = 'waiting'")
            let mail = try await MailServer.shared.mail(to: late)
            #expect(try await client.send("POST", "email/verify/confirm", #"{"token":"\#(mail.token)"}"#).status == 204)
            try await client.waitForJobs()
            let failed = try await state(client, of: refused)
            #expect(failed.state == "failed" && failed.attempt == 1 && failed.code == "mail-refused")
        }
    }

    @Test func `Codes are not sent to addresses that bounced, unless bounces cannot be checked`() async throws {
        let notifications = try await OtherService.start("notifications")
        try await UserClient.runWithMail(services: { _ in [notifications.address] }) { client in
            let (gone, there) = (UserClient.address("gone"), UserClient.address("there"))
            notifications.setBounced(.init(app: client.app.id, environment: .live, address: gone))
            notifications.setBounced(.init(app: client.app.id, environment: .test, address: there))
            _ = try await client.signUpByAddress(gone)
            _ = try await client.signUpByAddress(there)
            try await client.waitForJobs()
            let failed = try await state(client, of: gone)
            #expect(failed.state == "failed" && failed.attempt == 1 && failed.code == "mail-returned", "\(failed)")
            #expect(try await MailServer.shared.mails(to: gone).isEmpty)
            #expect(try await MailServer.shared.mails(to: there).count == 1)
            // The caller gets the usual answer, and mail is sent while notifications is unavailable.
            notifications.fail(.max)
            #expect(try await client.send("POST", "password/reset", #"{"email":"\#(gone)"}"#).status == 202)
            _ = try await MailServer.shared.mail(to: gone)
        }
    }

    @Test(arguments: [true, false]) func `After an unanswered request, bounces are not checked for a while`(
        _ rests: Bool
    ) async throws {
        let notifications = try await OtherService.start("notifications")
        let space = AppSpace(appID: "app1", environment: .live)
        let check = BounceCheck(
            notifications: notifications.address,
            calls: ServiceCalls(caller: "auth", internalSecret: Secret("an-internal-secret-of-the-tests-0123456789")),
            pause: rests ? .seconds(3_600) : .zero, timeout: .seconds(60))
        notifications.setBounced(.init(app: "app1", environment: .live, address: "gone@example.org"))
        #expect(try await check.hasBounced("gone@example.org", in: space))
        notifications.fail(1)
        #expect(try await !check.hasBounced("gone@example.org", in: space))
        #expect(try await check.hasBounced("gone@example.org", in: space) != rests)
    }

    @Test func `An app has its own sender and mail server, and the password is never returned`() async throws {
        try await UserClient.run { client in
            // No server has been configured.
            let none = try await client.send("POST", "password/reset", #"{"email":"ada@example.org"}"#)
            #expect(none.isProblem(.notImplemented), "\(none)")
            #expect(try await client.master("GET", "mail")["available"] == "false")
        }
        try await UserClient.run(mail: MailSettings(arePrivateServersAllowed: true)) { client in
            let server = try await MailServer.shared.server()
            let body =
                #"{"name":"Shöp, \"& Co\"","address":"hello@shop.example","host":"127.0.0.1","port":\#(server.port),"tls":"off"}"#
            let answer = try await client.master("PUT", "mail", body)
            #expect(
                answer.status == 200 && answer["available"] == "true" && answer["hasPassword"] == "false", "\(answer)")
            let address = UserClient.address()
            _ = try await client.signUpByAddress(address)
            let mail = try await MailServer.shared.mail(to: address)
            #expect(mail.from == "hello@shop.example" && mail.headers["from"]?.contains("Shöp, ") == true, "\(mail)")
            // Test does not have the settings of live.
            var test = client
            test.environment = .test
            #expect(try await test.master("GET", "mail")["address"] == nil)

            let sealed =
                #"{"address":"hello@shop.example","host":"smtp.shop.example","user":"shop","password":"a very secret word"}"#
            #expect(try await client.master("PUT", "mail", sealed).status == 200)
            let read = try await client.master("GET", "mail")
            #expect(
                read["hasPassword"] == "true" && read["port"] == "587" && read.string("tls") == "starttls"
                    && !read.text.contains("very secret"), "\(read)")
            let stored: String = try await client.auth.postgres.query("SELECT m::text FROM auth.mail_senders AS m")[0]
                .decode(0)
            #expect(
                !stored.contains("secret word")
                    && !stored.contains(Data("secret word".utf8).map { String($0, radix: 16) }.joined()))
            #expect(try await client.master("DELETE", "mail").status == 204)
            #expect(try await client.master("GET", "mail")["available"] == "false")
            #expect(try await client.send("GET", "mail").isProblem(.forbidden))
        }
    }

    /// Attack: an app configures an internal address as its mail server.
    @Test func `An app's mail server at an internal address is not contacted`() async throws {
        try await UserClient.run { client in
            let server = try await MailServer.shared.server()
            let body = #"{"address":"hello@shop.example","host":"127.0.0.1","port":\#(server.port),"tls":"off"}"#
            #expect(try await client.master("PUT", "mail", body).status == 200)
            let address = UserClient.address()
            _ = try await client.signUpByAddress(address)
            try await eventually("the mail was tried once") { try await state(client, of: address).code != nil }
            #expect(try await state(client, of: address).code == "mail-failed")
            #expect(try await MailServer.shared.mails(to: address).isEmpty)
        }
    }

    @Test(arguments: [
        (#"{}"#, "address"), (#"{"address":"nobody"}"#, "address"),
        (#"{"address":"a@example.org\r\nBcc: b@example.org"}"#, "address"),
        (#"{"address":"a@example.org","port":25}"#, "port"), (#"{"address":"a@example.org","host":"a b"}"#, "host"),
        (#"{"address":"a@example.org","host":"evil.example/x"}"#, "host"),
        (#"{"address":"a@example.org","host":"a.example","port":0}"#, "port"),
        (#"{"address":"a@example.org","host":"a.example","port":"25"}"#, "port"),
        (#"{"address":"a@example.org","host":"a.example","tls":"ssl"}"#, "tls"),
        (#"{"address":"a@example.org","host":"a.example","user":"u"}"#, "password"),
        (#"{"address":"a@example.org","host":"a.example","user":"u","password":"a\nb"}"#, "password"),
        (#"{"address":"a@example.org","host":"a.example","tls":"off","user":"u","password":"p"}"#, "tls"),
        (#"{"address":"a@example.org","sender":"x"}"#, "sender"),
    ])
    func `An invalid sender is refused`(body: String, field: String) async throws {
        try await UserClient.run { client in
            let answer = try await client.master("PUT", "mail", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.mail_senders") == 0)
        }
    }

    @Test func `An app's own texts are used in the language that the recipient prefers`() async throws {
        try await UserClient.runWithMail(#""verifyOnSignUp":false,"language":"nl""#) { client in
            func put(_ language: String, _ subject: String) async throws {
                let body =
                    #"{"subject":"\#(subject) {{app}}","text":"{{code}}\n{{#link}}{{link}}{{/link}}","html":"<b>{{code}}</b> {{app}}"}"#
                let answer = try await client.master("PUT", "mail/templates/sign-in/\(language)", body)
                #expect(answer.status == 200, "\(answer)")
            }
            try await put("FR", "Bonjour")
            try await put("nl", "Dag")
            try await put("pt-br", "Oi")
            #expect(try await client.master("GET", "mail/templates")["count"] == "3")
            #expect(try await client.master("GET", "mail/templates/sign-in/fr").string("subject") == "Bonjour {{app}}")
            let address = UserClient.address()
            let tokens = try await client.signUpByAddress(address)
            _ = try await client.send("PATCH", "me", #"{"profile":{"language":"pt-BR"}}"#, as: tokens)
            for (language, subject) in [("fr-CA", "Bonjour Shop"), ("de", "Oi Shop")] {
                _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)","language":"\#(language)"}"#)
                let mail = try await MailServer.shared.mail(to: address, number: subject == "Oi Shop" ? 2 : 1)
                #expect(mail.subject == subject, "\(mail)")
                let code = try mail.code
                #expect(mail.html?.contains("<b>\(code)</b> Shop") == true, "\(mail)")
            }
            _ = try await client.send("PATCH", "me", #"{"profile":{}}"#, as: tokens)
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)","language":"de"}"#)
            #expect(try await MailServer.shared.mail(to: address, number: 3).subject == "Dag Shop")
            for language in ["fr", "nl", "pt-BR"] {
                #expect(try await client.master("DELETE", "mail/templates/sign-in/\(language)").status == 204)
            }
            #expect(try await client.master("DELETE", "mail/templates/sign-in/fr").isProblem(.notFound))
            #expect(try await client.master("GET", "mail/templates/sign-in/fr").isProblem(.notFound))
        }
    }

    @Test(arguments: [
        ("sign-in/en", #"{"text":"{{code}}"}"#, ErrorCode.invalidBody, "subject"),
        ("sign-in/en", #"{"subject":"x","text":"no proof in it"}"#, .invalidBody, "text"),
        ("sign-in/en", #"{"subject":"x","text":"{{#link}}{{code}}{{/link}}"}"#, .invalidBody, "text"),
        ("sign-in/en", #"{"subject":"x","text":"{{code}}","html":"<p></p>"}"#, .invalidBody, "html"),
        ("sign-in/en", #"{"subject":"x","text":"{{code}} {{user}}"}"#, .invalidBody, "text"),
        ("sign-in/en", #"{"subject":"{{","text":"{{code}}"}"#, .invalidBody, "subject"),
        ("greeting/en", #"{"subject":"x","text":"y"}"#, .invalidName, "kind"),
        ("sign-in/e", #"{"subject":"x","text":"{{code}}"}"#, .invalidName, "language"),
    ])
    func `An unusable template is refused`(path: String, body: String, code: ErrorCode, field: String)
        async throws
    {
        try await UserClient.run { client in
            let answer = try await client.master("PUT", "mail/templates/\(path)", body)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.mail_templates") == 0)
        }
    }

    @Test func `Mail is limited per hour, app and recipient`() async throws {
        try await UserClient.runWithMail(#""mailsPerHour":2"#) { client in
            let address = UserClient.address()
            for status in [202, 202, 429] {
                #expect(try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#).status == status)
            }
            // A sign-up succeeds although its verification mail exceeds the limit.
            _ = try await client.signUpByAddress(UserClient.address())
            try await client.set(#""mailsPerHour":1000"#)
            try await client.waitForJobs()
            _ = try await client.auth.postgres.execute("UPDATE auth.mail_counts SET count = 20")
            let other = UserClient.address()
            let tokens = try await client.signUpByAddress(other)
            _ = try await MailServer.shared.mail(to: other)
            try await client.waitForJobs()
            _ = try await client.auth.postgres.execute("UPDATE auth.mail_counts SET count = 20")
            _ = try await client.send("POST", "email/verify", as: tokens)
            try await client.waitForJobs()
            #expect(try await state(client, of: other).code == "mail-limit")
        }
    }

    @Test(arguments: [
        (#"{"inviteOnly":"yes"}"#, "inviteOnly"), (#"{"linkURLs":["http://a.example/{token}"]}"#, "linkURLs"),
        (#"{"linkURLs":"shop://{token}"}"#, "linkURLs"),
        (#"{"linkURLs":[7]}"#, "linkURLs"), (#"{"language":"../en"}"#, "language"),
        (#"{"mailsPerHour":0}"#, "mailsPerHour"), (#"{"mailsPerHour":1.5}"#, "mailsPerHour"),
        (#"{"invite":true}"#, "invite"),
    ])
    func `Invalid settings are refused`(body: String, field: String) async throws {
        try await UserClient.run { client in
            let answer = try await client.master("PUT", "settings", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.settings") == 0)
        }
    }

    @Test func `Settings belong to one app and environment, and only the app's server can change them`() async throws {
        try await UserClient.run { client in
            try await client.set(
                #""inviteOnly":true,"linkURLs":["https://shop.example.org/#{token}"],"mailsPerHour":5"#)
            let read = try await client.master("GET", "settings")
            #expect(
                read["inviteOnly"] == "true" && read["mailsPerHour"] == "5" && read["verifyOnSignUp"] == "true"
                    && read.string("language") == "en", "\(read)")
            var test = client
            test.environment = .test
            #expect(try await test.master("GET", "settings")["inviteOnly"] == "false")
            #expect(try await client.send("GET", "settings").isProblem(.forbidden))
            #expect(try await client.send("PUT", "settings", "{}").isProblem(.forbidden))
            // All of them are replaced.
            try await client.set("")
            #expect(try await client.master("GET", "settings")["inviteOnly"] == "false")
        }
    }
}
