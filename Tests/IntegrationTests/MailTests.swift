import Foundation
import MartletAPI
import MartletMail
import MartletTesting
import Testing

extension IntegrationTests {
    /// Mail of an app in operation: ordered through the gateway, received by PyPI's aiosmtpd.
    @Suite(.enabled(if: MailServer.isAvailable)) struct MailTests {
        private static func withMail(_ body: (LocalServer) async throws -> Void) async throws {
            let mail = try await MailServer.shared.server(.startTLS)
            try await LocalServer.with(environment: [
                "MARTLET_MAIL_HOST": mail.host, "MARTLET_MAIL_PORT": String(mail.port), "MARTLET_MAIL_TLS": "starttls",
                "MARTLET_MAIL_USER": "shop",
                "MARTLET_MAIL_PASSWORD": "a secret of mail", "MARTLET_MAIL_CERTIFICATES": mail.certificatesFile ?? "",
                "MARTLET_MAIL_FROM": "no-reply@operator.example", "MARTLET_MAIL_BOUNCES": "bounces@operator.example",
                "MARTLET_MAIL_PRIVATE_ALLOWED": "true",
                "MARTLET_PUBLIC_URL": "https://backend.example.org",
            ]) { server in
                server.record(secret: "a secret of mail")
                try await body(server)
            }
        }

        private static func address(_ name: String) -> String { "\(name)-\(UInt64.random(in: 0 ... .max))@example.org" }

        /// Signs up a user and confirms the address with the mailed code; returns the id.
        private static func person(_ address: String, reading language: String, on server: LocalServer) async throws
            -> String
        {
            let client = Client(server.connection)
            let made = try await client.post(
                "auth/signup",
                #"{"email":"\#(address)","password":"correct horse","profile":{"language":"\#(language)"}}"#)
            try #require(made.status == 201, "\(made)")
            let code = try #require(
                try await MailServer.shared.mail(to: address).text.split(separator: "\n").first {
                    $0.count == 8 && $0.allSatisfy(\.isNumber)
                })
            let confirmed = try await client.post(
                "auth/email/verify/confirm", #"{"email":"\#(address)","mailCode":"\#(String(code))"}"#)
            try #require(confirmed.status == 204, "\(confirmed)")
            return try #require(made.string("user.id"))
        }

        /// The record of a mail that has ended.
        private static func ended(_ id: String?, _ master: Client) async throws -> Reply {
            let id = try #require(id)
            try await eventually("the mail has ended", within: .seconds(180)) {
                try await master.get("notifications/mail/\(id)").string("state") != "queued"
            }
            return try await master.get("notifications/mail/\(id)")
        }

        @Test func `Users get the app's mail in their language, and unsubscribe with one click`() async throws {
            try await Self.withMail { server in
                let master = Client.master(server.connection)
                let own = try await MailServer.shared.server()
                let sender =
                    #"{"name":"Shöp","address":"hello@shop.example","bounceAddress":"bounces@shop.example","host":"127.0.0.1","port":\#(own.port),"tls":"off"}"#
                #expect(try await master.send("PUT", "notifications/credentials/smtp", sender).isSuccess)
                for (language, subject, text) in [
                    ("en", "Hello {{name}}", "News of {{app}}"), ("de", "Hallo {{name}}", "Neues von {{app}}"),
                ] {
                    let template =
                        #"{"subject":"\#(subject)","text":"\#(text): {{unsubscribe}}","html":"<p title=\"{{name}}\">\#(text)</p>"}"#
                    let stored = try await master.send(
                        "PUT", "notifications/mail/templates/news?language=\(language)", template)
                    try #require(stored.isSuccess, "\(stored)")
                }
                let (ann, kim, other) = (Self.address("ann"), Self.address("kim"), Self.address("other"))
                let users = [
                    try await Self.person(ann, reading: "de-AT", on: server),
                    try await Self.person(kim, reading: "en", on: server),
                ]
                func order() async throws -> [Reply] {
                    let body =
                        #"{"to":["\#(other)"],"users":["\#(users[0])","\#(users[1])"],"template":"news","topic":"news","variables":{"name":"<A>"}}"#
                    let ordered = try await master.post("notifications/mail", body)
                    try #require(ordered.status == 202, "\(ordered)")
                    var records: [Reply] = []
                    for number in 0..<3 {
                        records.append(try await Self.ended(ordered.string("data.\(number)"), master))
                    }
                    return records
                }
                let sent = try await order()
                #expect(
                    sent.map { $0.string("state") } == ["sent", "sent", "sent"]
                        && sent.map { $0.string("to") } == [other, ann, kim], "\(sent)")
                for (address, number, subject, text) in [
                    (ann, 2, "Hallo <A>", "Neues von "), (kim, 2, "Hello <A>", "News of "),
                    (other, 1, "Hello <A>", "News of "),
                ] {
                    let mail = try await MailServer.shared.mail(to: address, number: number)
                    #expect(
                        mail.subject == subject && mail.text.hasPrefix(text)
                            && mail.html?.contains(#"title="&lt;A&gt;""#) == true, "\(mail)")
                    #expect(
                        mail.from == "bounces@shop.example"
                            && mail.headers["from"]?.contains("hello@shop.example") == true && mail.to == [address])
                    #expect(
                        mail.port == "off" && mail.defects == []
                            && mail.headers["list-unsubscribe-post"] == "List-Unsubscribe=One-Click")
                    #expect(mail.text.contains(try Self.link(of: mail)))
                    let all = mail.headers.values.joined(separator: "\n") + mail.text + (mail.html ?? "")
                    for secret in [server.connection.masterKey, server.connection.secret, users[0], users[1]] {
                        #expect(!all.contains(secret))
                    }
                }

                let link = try Self.link(of: try await MailServer.shared.mail(to: ann, number: 2))
                try #require(link.hasPrefix("https://backend.example.org/mail/unsubscribe/"), "\(link)")
                let address = server.connection.url + link.dropFirst("https://backend.example.org".count)
                let page = try await Client.send("GET", address)
                #expect(
                    page.status == 200 && page.text.contains(ann)
                        && page.header("content-security-policy")?.contains("default-src 'none'") == true, "\(page)")
                let form = ["content-type": "application/x-www-form-urlencoded"]
                #expect(
                    try await Client.send("POST", address + "x", headers: form, "List-Unsubscribe=One-Click").status
                        == 404)
                #expect(
                    try await Client.send("POST", address, headers: form, "List-Unsubscribe=One-Click").status == 200)
                let second = try await order()
                #expect(
                    second.map { $0.string("state") } == ["sent", "skipped", "sent"]
                        && second[1].string("reason") == "unsubscribed", "\(second)")

                // A hard bounce ends further mail, as the app's webhook reports with the mail's own id.
                let id = try #require(try await MailServer.shared.mail(to: kim, number: 2).headers["message-id"])
                let bounce = try await master.post(
                    "notifications/mail/bounces", #"{"mail":"\#(id)","kind":"hard","reason":"550 5.1.1"}"#)
                #expect(bounce["isSuppressed"] == "true", "\(bounce)")
                let third = try await order()
                #expect(third.map { $0.string("state") } == ["sent", "skipped", "suppressed"], "\(third)")
                let counts = [
                    try await MailServer.shared.mails(to: ann).count, try await MailServer.shared.mails(to: kim).count,
                    try await MailServer.shared.mails(to: other).count,
                ]
                #expect(counts == [2, 3, 3])
                #expect(try await Client(server.connection).get("notifications/mail/suppressed").isProblem(.forbidden))
            }
        }

        private static func link(of mail: ReceivedMail) throws -> String {
            try #require(mail.headers["list-unsubscribe"]).filter { !"<> \r\n\t".contains($0) }
        }

        /// The guarantee: no mail is lost, and a process that dies repeats at most the one it was sending, with the
        /// same Message-ID.
        @Test
        func
            `Whenever notifications is killed, each queued mail arrives, and duplicates can be recognized`()
            async throws
        {
            let kills = ProcessInfo.processInfo.environment["MARTLET_TEST_KILLS"].flatMap { Int($0) } ?? 2
            try await Self.withMail { server in
                let master = Client.master(server.connection)
                let recipients = (0..<200).map { Self.address("k\($0)") }
                for start in stride(from: 0, to: recipients.count, by: 50) {
                    let to = recipients[start..<start + 50].map { "\"\($0)\"" }.joined(separator: ",")
                    let ordered = try await master.post(
                        "notifications/mail", #"{"to":[\#(to)],"subject":"Hi","text":"Hello"}"#)
                    try #require(ordered.status == 202, "\(ordered)")
                }
                // Skips recipients that are done, because this runs all the time.
                var waiting = recipients
                func arrived() async throws -> Int {
                    var left: [String] = []
                    for address in waiting where try await MailServer.shared.mails(to: address).isEmpty {
                        left.append(address)
                    }
                    waiting = left
                    return recipients.count - waiting.count
                }
                for _ in 0..<kills {
                    let before = try await arrived()
                    if before < recipients.count {
                        try await eventually("some mail has arrived", within: .seconds(180)) {
                            try await arrived() > before
                        }
                    }
                    try await server.restart("notifications")
                }
                try await eventually("all mail has arrived", within: .seconds(180)) {
                    try await arrived() == recipients.count
                }
                try await eventually("all mail is recorded as sent", within: .seconds(120)) {
                    try await master.get("notifications/mail?state=sent&limit=1000")["count"]
                        == String(recipients.count)
                }
                var again = 0
                for address in recipients {
                    let mails = try await MailServer.shared.mails(to: address)
                    #expect(Set(mails.map { $0.headers["message-id"] }).count == 1)
                    #expect(mails.allSatisfy { $0.from == "bounces@operator.example" && $0.user == "shop" })
                    again += mails.count - 1
                }
                print("drill: \(kills) kills, \(again) of \(recipients.count) mails came twice")
                #expect(again <= kills)
            }
        }
    }
}
