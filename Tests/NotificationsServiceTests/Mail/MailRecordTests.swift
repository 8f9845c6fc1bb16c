import Foundation
import Logging
import MartletAPI
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import NotificationsService

/// Templates, records and previews, and their removal.
struct MailRecordTests {
    @Test func `A template's languages are added and removed one by one`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let path = "/notifications/mail/templates/welcome"
            #expect(try await app.master("GET", path).isProblem(.templateNotFound))
            #expect(
                try await app.master("PUT", path, #"{"subject":"Hi {{name}}","text":"Hello","html":"<p>{{name}}</p>"}"#)
                    .status == 200)
            let both = try await app.master(
                "PUT", path + "?language=DE-at", #"{"subject":"Hallo","text":"Grüß {{who}}"}"#)
            #expect(
                both["languages.en.html"] == #""<p>{{name}}</p>""# && both["languages.de-at.subject"] == "\"Hallo\"",
                "\(both)")
            #expect(try await app.master("GET", "/notifications/mail/templates")["count"] == "2")
            // Missing values in any language are reported when the mail is requested.
            let order = #"{"to":["ada@example.org"],"template":"welcome","variables":{"name":"Ada"}}"#
            #expect(
                try await app.master("POST", "/notifications/mail", order).isProblem(
                    .invalidBody, field: "variables.who"))
            #expect(try await app.master("DELETE", path + "?language=de-AT").status == 204)
            #expect(try await app.master("POST", "/notifications/mail", order).status == 202)
            let preview = try await app.master(
                "POST", "/notifications/mail/preview", #"{"template":"welcome","variables":{"name":"<A>"}}"#)
            #expect(
                preview["subject"] == "\"Hi <A>\"" && preview["html"] == "\"<p>&lt;A&gt;</p>\""
                    && preview["language"] == "\"en\"", "\(preview)")
            #expect(try await app.master("DELETE", path).status == 204)
            #expect(try await app.master("DELETE", path).isProblem(.templateNotFound))
            for (body, field) in [
                (#"{"subject":"{{","text":"x"}"#, "subject"), (#"{"subject":"x"}"#, "text"),
                (#"{"subject":"x","text":"x","cc":"x"}"#, "cc"),
            ] {
                #expect(try await app.master("PUT", path, body).isProblem(.invalidBody, field: field))
            }
            #expect(
                try await app.master("PUT", "/notifications/mail/templates/-x", #"{"subject":"x","text":"x"}"#)
                    .isProblem(.invalidName, field: "name"))
            #expect(
                try await app.master("PUT", path + "?language=x", #"{"subject":"x","text":"x"}"#).isProblem(
                    .invalidParameter, field: "language"))
            #expect(try await app.count("mail_templates") == 0)
        }
    }

    @Test func `Records of one app and environment are read page by page`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let order = #"{"to":["a@example.org","b@example.org","c@example.org"],"subject":"Hi","text":"Hello"}"#
            let ids = try await app.master("POST", "/notifications/mail", order)
            let first = try await app.master("GET", "/notifications/mail?limit=2")
            #expect(first["count"] == "2", "\(first)")
            let next = try #require(first["next"]).filter { $0 != "\"" }
            let second = try await app.master("GET", "/notifications/mail?limit=2&cursor=\(next)")
            #expect(second["count"] == "1" && second["next"] == nil, "\(second)")
            let all = Set(["data.0.to", "data.1.to"].map { first[$0] } + [second["data.0.to"]])
            #expect(all == ["\"a@example.org\"", "\"b@example.org\"", "\"c@example.org\""])
            #expect(try await app.master("GET", "/notifications/mail?to=B@example.org")["count"] == "1")
            #expect(try await app.master("GET", "/notifications/mail?state=sent")["count"] == "0")
            #expect(
                try await app.master("GET", "/notifications/mail?state=lost").isProblem(
                    .invalidParameter, field: "state"))
            #expect(
                try await app.master("GET", "/notifications/mail?cursor=7").isProblem(
                    .invalidParameter, field: "cursor"))
            let id = try #require(ids["data.0"]).filter { $0 != "\"" }
            #expect(try await app.master("GET", "/notifications/mail/\(id)")["id"] == "\"\(id)\"")
            #expect(try await app.master("GET", "/notifications/mail/7").isProblem(.invalidID, field: "id"))
            for (environment, name) in [(AppEnvironment.test, "app1"), (.live, "app2")] {
                var other = app
                (other.environment, other.appID) = (environment, name)
                #expect(try await other.master("GET", "/notifications/mail/\(id)").isProblem(.messageNotFound))
                #expect(try await other.master("GET", "/notifications/mail")["count"] == "0")
            }
            #expect(try await app.client("GET", "/notifications/mail").isProblem(.forbidden))
            #expect(try await app.client("GET", "/notifications/mail/\(id)").isProblem(.forbidden))
        }
    }

    @Test func `A user's mail is exported and erased, and waiting mail is not sent`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let order = #"{"users":["\#(MailApp.ada)","\#(MailApp.bob)"],"subject":"Hi","text":"Hello"}"#
            #expect(try await app.master("POST", "/notifications/mail", order).status == 202)
            try await app.service.mail.unsubscribed.add(
                "ada@example.org", "news", user: MailApp.ada, in: try await app.space.id)
            let request = UserDataRequest(app: app.appID, environment: .live, user: MailApp.ada)
            let lines = String(buffer: try await app.service.mail.userData.export(request).lines)
            #expect(
                lines.split(separator: "\n").count == 2 && lines.contains(#""kind":"mail""#)
                    && lines.contains(#""kind":"unsubscribed""#), "\(lines)")
            var test = request
            test.environment = .test
            #expect(try await app.service.mail.userData.erase(test).erased == [:])
            #expect(try await app.service.mail.userData.erase(request).erased == ["mails": 1, "unsubscribed": 1])
            let again = try await app.service.mail.userData.erase(request)
            #expect(again == UserErasure())
            #expect(try await app.count("mails") == 1)
            #expect(try await app.count("unsubscribed") == 0)
        }
    }

    @Test func `Old records are deleted, and abandoned mail fails`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let order = #"{"to":["a@example.org"],"subject":"Hi","text":"Hello"}"#
            #expect(try await app.master("POST", "/notifications/mail", order).status == 202)
            let housekeeping = MailHousekeeping(
                postgres: app.postgres, retentionInDays: 90,
                logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { Date() })
            try await housekeeping.cleanUp(at: Date())
            #expect(try await app.master("GET", "/notifications/mail")["data.0.state"] == "\"queued\"")
            try await housekeeping.cleanUp(at: Date() + 2 * 86_400)
            #expect(try await app.master("GET", "/notifications/mail")["data.0.state"] == "\"failed\"")
            #expect(try await app.postgres.query("SELECT FROM notifications.mails WHERE content IS NOT NULL").isEmpty)
            try await housekeeping.cleanUp(at: Date() + 91 * 86_400)
            #expect(try await app.count("mails") == 0)
        }
    }
}
