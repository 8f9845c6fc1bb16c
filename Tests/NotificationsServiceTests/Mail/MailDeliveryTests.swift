import Foundation
import MartletAPI
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Tests against PyPI's aiosmtpd.
@Suite(.enabled(if: MailServer.isAvailable)) struct MailDeliveryTests {
    @Test func `Mail to an address arrives with its values, and its record shows it`() async throws {
        try await MailApp.run { app in
            let address = MailApp.address()
            let record = try await app.sent(
                #"{"to":["\#(address.uppercased())"],"subject":"Hi {{name}}","text":"{{name}}\n{{#more}}{{more}}{{/more}}{{count}}","html":"<b title=\"{{name}}\">{{name}}</b>","variables":{"name":"<Ödön> \"x\"","count":7,"more":null},"replyTo":"help@example.org"}"#
            )
            #expect(
                record["state"] == "\"sent\"" && record["to"] == "\"\(address)\"" && record["attempts"] == "1"
                    && record["reason"] == "null", "\(record)")
            let mail = try await MailServer.shared.mail(to: address)
            #expect(
                mail.subject == #"Hi <Ödön> "x""# && mail.text.hasPrefix(#"<Ödön> "x"\#n7"#) && mail.defects == [],
                "\(mail)")
            #expect(
                mail.html?.trimmingCharacters(in: .newlines)
                    == #"<b title="&lt;Ödön&gt; &quot;x&quot;">&lt;Ödön&gt; &quot;x&quot;</b>"#)
            #expect(mail.from == "no-reply@example.org" && mail.headers["reply-to"] == "help@example.org")
            #expect(mail.headers["from"]?.contains("Shöp") == true && mail.headers["list-unsubscribe"] == nil)
            #expect(mail.headers["message-id"] == "<\(record["id"]?.filter { $0 != "\"" } ?? "")@example.org>")
            // Nothing of its content is stored.
            #expect(try await app.postgres.query("SELECT FROM notifications.mails WHERE content IS NOT NULL").isEmpty)
            let job: String = try await app.postgres.query("SELECT jobs::text FROM notifications.jobs")[0].decode(0)
            #expect(!job.contains("Ödön") && !job.contains(address))
        }
    }

    @Test func `A user gets mail in their language at their verified address`() async throws {
        let address = MailApp.address()
        try await MailApp.run(try await MailApp.options(ada: address)) { app in
            let english = try await app.master(
                "PUT", "/notifications/mail/templates/welcome", #"{"subject":"Welcome {{name}}","text":"en"}"#)
            #expect(english.status == 200)
            #expect(
                try await app.master(
                    "PUT", "/notifications/mail/templates/welcome?language=de",
                    #"{"subject":"Hallo {{name}}","text":"de"}"#
                ).status == 200)
            let body = #"{"users":["\#(MailApp.ada)"],"template":"welcome","variables":{"name":"Ada"}}"#
            #expect(try await app.sent(body)["state"] == "\"sent\"")
            #expect(try await MailServer.shared.mail(to: address).subject == "Hallo Ada")
            let inEnglish =
                #"{"users":["\#(MailApp.ada)"],"template":"welcome","language":"en-GB","variables":{"name":"Ada"}}"#
            #expect(try await app.sent(inEnglish)["state"] == "\"sent\"")
            #expect(try await MailServer.shared.mail(to: address, number: 2).subject == "Welcome Ada")
        }
    }

    @Test(arguments: [(MailApp.bob, "no verified address"), ("0193a000-0000-7000-8000-0000000000cc", "no such user")])
    func `Recipients who cannot get mail are skipped`(user: String, reason: String) async throws {
        try await MailApp.run { app in
            let record = try await app.sent(#"{"users":["\#(user)"],"subject":"Hi","text":"Hello"}"#)
            #expect(
                record["state"] == "\"failed\"" && record["reason"] == "\"\(reason)\"" && record["to"] == "null",
                "\(record)")
        }
    }

    @Test func `Permanent refusals fail with their status, temporary ones are retried`()
        async throws
    {
        try await MailApp.run { app in
            let record = try await app.sent(#"{"to":["\#(MailApp.address("refuse"))"],"subject":"Hi","text":"Hello"}"#)
            #expect(
                record["state"] == "\"failed\"" && record["reason"] == "\"refused 550\"" && record["attempts"] == "1",
                "\(record)")
            let later = MailApp.address("later")
            let order = try await app.master(
                "POST", "/notifications/mail", #"{"to":["\#(later)"],"subject":"Hi","text":"Hello"}"#)
            let id = try #require(order["data.0"]).filter { $0 != "\"" }
            let waiting = try await eventually("the mail was tried once") {
                let waiting = try await app.master("GET", "/notifications/mail/\(id)")
                return waiting["reason"] != "null" ? waiting : nil
            }
            #expect(waiting["state"] == "\"queued\"" && waiting["reason"] == "\"refused 451\"", "\(waiting)")
            try await app.postgres.execute("UPDATE notifications.mails SET due = now() WHERE state = 'queued'")
            #expect(try await app.ended(id)["state"] == "\"sent\"")
            #expect(try await MailServer.shared.mails(to: later).count == 1)
        }
    }

    @Test func `An address gets no more mail from an app than its hourly limit`() async throws {
        var options = try await MailApp.options()
        options.mail.mailsPerAddressAndHour = 2
        try await MailApp.run(options) { app in
            let address = MailApp.address()
            let body = #"{"to":["\#(address)"],"subject":"Hi","text":"Hello"}"#
            for _ in 0..<2 { #expect(try await app.sent(body)["state"] == "\"sent\"") }
            let third = try await app.sent(body)
            #expect(third["state"] == "\"failed\"" && third["reason"] == "\"address had 2 in an hour\"", "\(third)")
            #expect(try await MailServer.shared.mails(to: address).count == 2)
        }
    }

    @Test func `An app's own sender, server and bounce address are used, and its password is never shown`() async throws
    {
        try await MailApp.run { app in
            let server = try await MailServer.shared.server()
            let body =
                #"{"name":"Shöp","address":"hello@shop.example","bounceAddress":"bounces@shop.example","host":"127.0.0.1","port":\#(server.port),"tls":"off"}"#
            try await app.putSMTP(body)
            let address = MailApp.address()
            #expect(try await app.sent(#"{"to":["\#(address)"],"subject":"Hi","text":"Hello"}"#)["state"] == "\"sent\"")
            let mail = try await MailServer.shared.mail(to: address)
            #expect(
                mail.from == "bounces@shop.example" && mail.headers["from"]?.contains("hello@shop.example") == true,
                "\(mail)")
            let test = try await app.master("POST", "/notifications/mail/test", #"{"to":"\#(address)"}"#)
            #expect(test.status == 200 && test["isSent"] == "true", "\(test)")
            #expect(try await MailServer.shared.mail(to: address, number: 2).subject == "Shöp: test")

            let closed = #"{"address":"hello@shop.example","host":"127.0.0.1","port":9,"tls":"off"}"#
            try await app.putSMTP(closed)
            let failed = try await app.master("POST", "/notifications/mail/test", #"{"to":"\#(address)"}"#)
            #expect(failed["isSent"] == "false" && failed["reason"] == "\"not reached\"", "\(failed)")
            let stored: String = try await app.postgres.query("SELECT shown::text FROM notifications.credentials")[0]
                .decode(0)
            #expect(!stored.contains("password\": \""))
        }
    }

    /// Attack: an app configures an internal address as its mail server.
    @Test func `An app's mail server at an internal address is contacted only if the operator allows it`()
        async throws
    {
        var options = try await MailApp.options()
        options.mail.server.arePrivateServersAllowed = false
        try await MailApp.run(options) { app in
            let server = try await MailServer.shared.server()
            try await app.putSMTP(
                #"{"address":"hello@shop.example","host":"127.0.0.1","port":\#(server.port),"tls":"off"}"#)
            let answer = try await app.master("POST", "/notifications/mail/test", #"{"to":"\#(MailApp.address())"}"#)
            #expect(answer["isSent"] == "false" && answer["reason"] == "\"not reached\"", "\(answer)")
        }
    }

    /// Attack: values that try to become headers or recipients.
    @Test func `No value can become a header`() async throws {
        try await MailApp.run { app in
            let (address, eve) = (MailApp.address(), MailApp.address())
            let evil = #"x\r\nBcc: \#(eve)\r\n\r\n<p>\u2028Subject: other"#
            let record = try await app.sent(
                #"{"to":["\#(address)"],"subject":"{{v}}","text":"{{v}}\n.\nQUIT","topic":"news","variables":{"v":"\#(evil)"}}"#
            )
            #expect(record["state"] == "\"sent\"", "\(record)")
            let mail = try await MailServer.shared.mail(to: address)
            #expect(
                mail.headers["bcc"] == nil && mail.to == [address] && mail.defects == []
                    && mail.text.contains("\n.\nQUIT"), "\(mail)")
            #expect(mail.subject == "x Bcc: \(eve) <p> Subject: other")
            #expect(try await MailServer.shared.mails(to: eve).isEmpty)
        }
    }
}

extension NotificationsApp {
    func putSMTP(_ body: String) async throws {
        let answer = try await master("PUT", "/notifications/credentials/smtp", body)
        #expect(answer.status == 200, "\(answer)")
    }
}
