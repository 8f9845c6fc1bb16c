import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

struct UnsubscribeTests {
    private func path(_ app: NotificationsApp, _ address: String, topic: String = "news", user: String? = nil)
        async throws -> String
    {
        let token = UnsubscribeToken(
            space: try await app.space.id, address: address, topic: topic, user: user, app: "Shöp <b>")
        return "/mail/unsubscribe/" + (try app.service.mail.unsubscribeLinks.link(token)).lastPathComponent
    }

    private func send(_ app: NotificationsApp, _ method: String, _ path: String, _ body: String? = nil) async throws
        -> Answer
    {
        try await app.gateway.acting(as: .visitor).send(
            method, path, body, headers: ["Content-Type": "application/x-www-form-urlencoded"])
    }

    @Test func `Viewing the page changes nothing; its button and a mail program's POST unsubscribe`() async throws {
        try await MailApp.run { app in
            let path = try await path(app, "ada@example.org")
            let page = try await send(app, "GET", path)
            #expect(
                page.status == 200 && page.text.contains("Shöp &lt;b&gt;") && page.text.contains("“news”")
                    && !page.text.contains("<b>"), "\(page)")
            #expect(
                page.header("Content-Security-Policy")?.contains("default-src 'none'") == true
                    && page.header("Cache-Control") == "no-store")
            #expect(try await app.master("GET", "/notifications/mail/unsubscribed")["count"] == "0")
            for _ in 0..<2 { #expect(try await send(app, "POST", path, "List-Unsubscribe=One-Click").status == 200) }
            let list = try await app.master("GET", "/notifications/mail/unsubscribed")
            #expect(
                list["count"] == "1" && list["data.0.address"] == "\"ada@example.org\""
                    && list["data.0.topic"] == "\"news\"", "\(list)")
            #expect(try await send(app, "POST", path, "scope=all").status == 200)
            #expect(
                try await app.master("GET", "/notifications/mail/unsubscribed?address=ADA@example.org")["count"] == "2")
            #expect(
                try await app.master("DELETE", "/notifications/mail/unsubscribed?address=ada@example.org&topic=news")
                    .status == 204)
            #expect(try await app.master("GET", "/notifications/mail/unsubscribed")["data.0.topic"] == "\"*\"")
            #expect(
                try await app.master("DELETE", "/notifications/mail/unsubscribed?address=ada@example.org").status == 204
            )
            #expect(
                try await app.master("DELETE", "/notifications/mail/unsubscribed?address=ada@example.org").isProblem(
                    .notFound))
            #expect(try await app.client("GET", "/notifications/mail/unsubscribed").isProblem(.forbidden))
        }
    }

    /// Attack: links that are invented, changed, or from another server.
    @Test func `Only links from this server work, and an address cannot be read from one`() async throws {
        try await MailApp.run { app in
            let good = try await path(app, "ada@example.org")
            let token = String(good.dropFirst("/mail/unsubscribe/".count))
            #expect(!String(decoding: Base64URL.decode(token) ?? Data(), as: UTF8.self).contains("ada"))
            var options = try await MailApp.options()
            options.internalSecret = Secret("another-internal-secret-of-the-tests-0123456789")
            let other = UnsubscribeLinks(
                sealing: SealingKey(internalSecret: options.internalSecret, for: "martlet-notifications-unsubscribe"),
                publicURL: options.mail.publicURL)
            let foreign = try other.link(
                UnsubscribeToken(space: 1, address: "ada@example.org", topic: "news", user: nil, app: "")
            ).lastPathComponent
            let changed = (token.first == "A" ? "B" : "A") + token.dropFirst()
            for bad in [
                foreign, changed, String(token.dropLast(2)), token + "AA", "x", String(repeating: "A", count: 3_000),
            ] {
                #expect(try await send(app, "GET", "/mail/unsubscribe/" + bad).status == 404)
                #expect(
                    try await send(app, "POST", "/mail/unsubscribe/" + bad, "List-Unsubscribe=One-Click").status == 404)
            }
            #expect(try await app.count("unsubscribed") == 0)
            #expect(try await send(app, "POST", good, String(repeating: "x", count: 2_000)).isProblem(.payloadTooLarge))
            #expect(try await app.count("unsubscribed") == 0)
        }
    }

    @Test(.enabled(if: MailServer.isAvailable))
    func `Mail about a topic has the header, and an unsubscription ends mail about the topic`() async throws {
        try await MailApp.run { app in
            let address = MailApp.address()
            func body(_ topic: String?) -> String {
                #"{"to":["\#(address)"],"subject":"Hi","text":"{{#unsubscribe}}Stop: {{unsubscribe}}{{/unsubscribe}}"\#(topic.map { #","topic":"\#($0)""# } ?? "")}"#
            }
            #expect(try await app.sent(body("news"))["state"] == "\"sent\"")
            let mail = try await MailServer.shared.mail(to: address)
            let link = try #require(mail.headers["list-unsubscribe"]).filter { !"<> \r\n\t".contains($0) }
            #expect(
                link.hasPrefix("https://backend.example.org/martlet/mail/unsubscribe/")
                    && mail.text.contains("Stop: " + link), "\(mail)")
            #expect(mail.headers["list-unsubscribe-post"] == "List-Unsubscribe=One-Click")
            #expect(mail.longestLine <= 998)
            #expect(
                try await send(
                    app, "POST", String(link.dropFirst("https://backend.example.org/martlet".count)),
                    "List-Unsubscribe=One-Click"
                ).status == 200)

            let skipped = try await app.sent(body("news"))
            #expect(skipped["state"] == "\"skipped\"" && skipped["reason"] == "\"unsubscribed\"", "\(skipped)")
            #expect(try await app.sent(body("offers"))["state"] == "\"sent\"")
            #expect(try await app.sent(body(nil))["state"] == "\"sent\"")
            #expect(try await MailServer.shared.mail(to: address, number: 3).headers["list-unsubscribe"] == nil)
            #expect(
                try await send(
                    app, "POST", String(link.dropFirst("https://backend.example.org/martlet".count)), "scope=all"
                ).status == 200)
            #expect(try await app.sent(body("offers"))["state"] == "\"skipped\"")
            // Test does not have the data of live.
            var test = app
            test.environment = .test
            #expect(try await test.sent(body("news"))["state"] == "\"sent\"")
        }
    }
}
