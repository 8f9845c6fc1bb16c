import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Bounces, and addresses that get no more mail.
struct BounceTests {
    private static let path = "/notifications/mail/bounces"

    private static let refusals = [
        (#"{"address":"a@example.org"}"#, "kind"), (#"{"address":"a@example.org","kind":"bad"}"#, "kind"),
        (#"{"kind":"hard"}"#, "mail"),
        (#"{"address":"a@example.org","mail":"0193a000-0000-7000-8000-0000000000aa","kind":"hard"}"#, "mail"),
        (#"{"mail":"7","kind":"hard"}"#, "mail"),
        (#"{"address":"nobody","kind":"hard"}"#, "address"),
        (#"{"address":"a@example.org","kind":"hard","reason":7}"#, "reason"),
        (#"{"address":"a@example.org","kind":"hard","topic":"news"}"#, "topic"),
    ]

    @Test func `An invalid bounce is refused, and nothing is written`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            for (body, field) in Self.refusals {
                let answer = try await app.master("POST", Self.path, body)
                #expect(answer.isProblem(.invalidBody, field: field), "\(body): \(answer)")
            }
            let body = #"{"address":"a@example.org","kind":"hard"}"#
            #expect(try await app.client("POST", Self.path, body, user: MailApp.ada).isProblem(.forbidden))
            #expect(try await app.staff("POST", Self.path, body, rights: .none).isProblem(.forbidden))
            // Mail of another environment is unknown, and mail not yet sent cannot have bounced.
            let order = try await app.master(
                "POST", "/notifications/mail", #"{"users":["\#(MailApp.bob)"],"subject":"Hi","text":"Hello"}"#)
            let id = try #require(order["data.0"]).filter { $0 != "\"" }
            #expect(
                try await app.master("POST", Self.path, #"{"mail":"\#(id)","kind":"hard"}"#).isProblem(.messageNotFound)
            )
            #expect(try await app.count("mail_suppressed") == 0)
        }
    }

    @Test func `Internal services may query whether mail bounced, and a complaint does not count`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            for (name, kind) in [("a", "hard"), ("b", "complaint"), ("c", "soft")] {
                let answer = try await app.master(
                    "POST", Self.path, #"{"address":"\#(name)@example.org","kind":"\#(kind)"}"#)
                #expect(answer.status == 200)
            }
            let returnedPath = "/internal/mail/returned"
            func body(_ address: String, _ environment: String = "live", app: String = "app1") -> String {
                #"{"app":"\#(app)","environment":"\#(environment)","address":"\#(address)"}"#
            }
            let service = app.gateway.acting(as: .service("auth"))
            for (question, isReturned) in [
                (body("a@example.org"), "true"), (body("b@example.org"), "false"), (body("c@example.org"), "false"),
                (body("d@example.org"), "false"),
                (body("a@example.org", "test"), "false"), (body("a@example.org", app: "another"), "false"),
            ] {
                let answer = try await service.post(returnedPath, question)
                #expect(answer["isReturned"] == isReturned, "\(question)")
            }
            #expect(try await app.count("spaces") == 1)
            #expect(
                try await service.post(returnedPath, body("a@example.org", "dev")).isProblem(
                    .invalidBody, field: "environment"))
            #expect(
                try await service.post(returnedPath, #"{"app":"app1","environment":"live"}"#).isProblem(
                    .invalidBody, field: "address"))
            #expect(try await app.master("POST", returnedPath, body("a@example.org")).isProblem(.forbidden))
        }
    }

    @Test func `The list is read page by page, and entries can be removed`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            for (name, kind) in [("a", "hard"), ("b", "complaint"), ("c", "hard"), ("c", "soft"), ("d", "soft")] {
                let answer = try await app.master(
                    "POST", Self.path,
                    #"{"address":"\#(name.uppercased())@example.org","kind":"\#(kind)","reason":"said so"}"#)
                #expect(
                    answer.status == 200 && answer["isSuppressed"] == (kind == "soft" ? "false" : "true"), "\(answer)")
            }
            let list = "/notifications/mail/suppressed"
            let first = try await app.master("GET", list + "?limit=2")
            #expect(
                first["count"] == "2" && first["data.0.address"] == "\"a@example.org\""
                    && first["data.1.kind"] == "\"complaint\"" && first["data.0.reason"] == "\"said so\"", "\(first)")
            let next = try #require(first["next"]).filter { $0 != "\"" }
            let second = try await app.master("GET", list + "?limit=2&cursor=\(next)")
            #expect(
                second["count"] == "1" && second["data.0.address"] == "\"c@example.org\"" && second["next"] == nil,
                "\(second)")
            #expect(try await app.master("GET", list + "?address=B@example.org")["count"] == "1")
            // A complaint stays one, whatever bounces later.
            _ = try await app.master("POST", Self.path, #"{"address":"b@example.org","kind":"hard"}"#)
            #expect(try await app.master("GET", list + "?address=b@example.org")["data.0.kind"] == "\"complaint\"")
            var test = app
            test.environment = .test
            #expect(try await test.master("GET", list)["count"] == "0")
            #expect(try await test.master("DELETE", list + "?address=a@example.org").isProblem(.notFound))
            #expect(try await app.master("DELETE", list).isProblem(.invalidParameter, field: "address"))
            #expect(try await app.client("DELETE", list + "?address=a@example.org").isProblem(.forbidden))
            #expect(try await app.master("DELETE", list + "?address=A@example.org").status == 204)
            #expect(try await app.master("DELETE", list + "?address=a@example.org").isProblem(.notFound))
            #expect(try await app.count("mail_suppressed") == 2)
        }
    }

    @Test(.enabled(if: MailServer.isAvailable), arguments: ["hard", "complaint"])
    func `After a hard bounce or a complaint no more mail is sent to the address, with or without a topic`(kind: String)
        async throws
    {
        try await MailApp.run { app in
            let address = MailApp.address()
            let body = #"{"to":["\#(address)"],"subject":"Hi","text":"Hello"}"#
            let record = try await app.sent(body)
            let id = try #require(record["id"]).filter { $0 != "\"" }
            let soft = try await app.master("POST", Self.path, #"{"mail":"\#(id)","kind":"soft","reason":"full"}"#)
            #expect(soft["isSuppressed"] == "false")
            #expect(try await app.sent(body)["state"] == "\"sent\"")
            let messageID = try await MailServer.shared.mail(to: address).headers["message-id"] ?? ""
            #expect(
                try await app.master("POST", Self.path, #"{"mail":"\#(messageID)","kind":"\#(kind)"}"#)["isSuppressed"]
                    == "true")
            let bounced = try await app.master("GET", "/notifications/mail/\(id)")
            #expect(
                bounced["state"] == "\"sent\"" && bounced["bounce"] == "\"\(kind)\"" && bounced["bounced"] != "null",
                "\(bounced)")
            for body in [body, #"{"to":["\#(address)"],"subject":"Hi","text":"Hello","topic":"news"}"#] {
                let held = try await app.sent(body)
                #expect(
                    held["state"] == "\"suppressed\""
                        && held["reason"] == (kind == "hard" ? "\"hard bounce\"" : "\"complaint\""), "\(held)")
            }
            let test = try await app.master("POST", "/notifications/mail/test", #"{"to":"\#(address)"}"#)
            #expect(test["isSent"] == "false", "\(test)")
            #expect(try await MailServer.shared.mails(to: address).count == 2)
            #expect(try await app.master("GET", "/notifications/mail?state=suppressed")["count"] == "2")
            #expect(try await app.master("DELETE", "/notifications/mail/suppressed?address=\(address)").status == 204)
            #expect(try await app.sent(body)["state"] == "\"sent\"")
        }
    }

    @Test(.enabled(if: MailServer.isAvailable))
    func `An unknown mailbox counts as a bounce, a refusal of the sender does not`() async throws {
        try await MailApp.run { app in
            let (gone, blocked) = (MailApp.address("refuse"), MailApp.address("blocked"))
            let refused = try await app.sent(#"{"to":["\#(gone)"],"subject":"Hi","text":"Hello"}"#)
            #expect(
                refused["state"] == "\"failed\"" && refused["reason"] == "\"refused 550\""
                    && refused["bounce"] == "\"hard\"" && refused["attempts"] == "1", "\(refused)")
            #expect(
                try await app.sent(#"{"to":["\#(gone)"],"subject":"Hi","text":"Hello"}"#)["state"] == "\"suppressed\"")
            for _ in 0..<2 {
                let refused = try await app.sent(#"{"to":["\#(blocked)"],"subject":"Hi","text":"Hello"}"#)
                #expect(
                    refused["state"] == "\"failed\"" && refused["reason"] == "\"refused 550\""
                        && refused["bounce"] == "null", "\(refused)")
            }
            #expect(try await app.master("GET", "/notifications/mail/suppressed")["data.0.address"] == "\"\(gone)\"")
            #expect(try await app.count("mail_suppressed") == 1)
        }
    }
}
