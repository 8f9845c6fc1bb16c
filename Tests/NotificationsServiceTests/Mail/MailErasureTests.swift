import Foundation
import MartletAPI
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import NotificationsService

/// What is left of erased users, and what stays in effect.
struct MailErasureTests {
    private static func refusal(
        _ app: NotificationsApp, _ address: String, user: String? = nil, topic: String? = "news"
    ) async throws -> MailStore.End? {
        try await app.service.mail.permission.refusal(
            of: address, user: user, topic: topic, in: try await app.space.id)?.end
    }

    @Test func `An unsubscription is erased with the user but stays with the address`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let (mail, space) = (app.service.mail, try await app.space.id)
            try await mail.unsubscribed.add("old@example.org", "news", user: MailApp.ada, in: space)
            #expect(try await Self.refusal(app, "new@example.org", user: MailApp.ada) == .skipped)
            #expect(try await Self.refusal(app, "old@example.org", user: MailApp.bob) == .skipped)
            #expect(try await Self.refusal(app, "old@example.org") == .skipped)
            #expect(try await Self.refusal(app, "new@example.org", user: MailApp.bob) == nil)
            #expect(try await Self.refusal(app, "new@example.org", user: MailApp.ada, topic: "offers") == nil)
            #expect(try await Self.refusal(app, "new@example.org", user: MailApp.ada, topic: nil) == nil)
            // A later owner of the address decides for themselves.
            try await mail.unsubscribed.add("old@example.org", "news", user: MailApp.bob, in: space)
            #expect(try await Self.refusal(app, "bob@example.org", user: MailApp.bob) == .skipped)
            #expect(try await app.count("unsubscribed") == 2)
            let list = "/notifications/mail/unsubscribed"
            let ofAda = try await app.master("GET", list + "?user=\(MailApp.ada.uppercased())")
            #expect(
                ofAda["count"] == "1" && ofAda["data.0.address"] == "\"old@example.org\""
                    && ofAda["data.0.user"] == "\"\(MailApp.ada)\"", "\(ofAda)")
            let page = try await app.master("GET", list + "?limit=1")
            let next = try #require(page["next"]).filter { $0 != "\"" }.replacing(" ", with: "%20")
            #expect(try await app.master("GET", list + "?limit=1&cursor=\(next)")["count"] == "1")
            #expect(try await app.master("DELETE", list + "?topic=news").isProblem(.invalidParameter, field: "address"))
            #expect(try await app.master("DELETE", list + "?user=\(MailApp.ada)").status == 204)
            #expect(try await Self.refusal(app, "new@example.org", user: MailApp.ada) == nil)
            #expect(try await Self.refusal(app, "old@example.org") == .skipped)
        }
    }

    @Test func `Only digests are left of an erased user, and they keep the unsubscription`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let (mail, space) = (app.service.mail, try await app.space.id)
            let order =
                #"{"users":["\#(MailApp.ada)"],"to":["ada@example.org","other@example.org"],"subject":"Hi","text":"Hello"}"#
            #expect(try await app.master("POST", "/notifications/mail", order).status == 202)
            try await app.postgres.execute(
                "UPDATE notifications.mails SET address = 'ada@example.org', due = now() + interval '1 hour' WHERE user_id IS NOT NULL"
            )
            try await mail.unsubscribed.add("ada@example.org", "news", user: MailApp.ada, in: space)
            // A previous owner of the address has also unsubscribed.
            try await mail.unsubscribed.add("ada@example.org", "offers", user: MailApp.bob, in: space)
            for (address, user) in [
                ("ada@example.org", nil), ("ada-old@example.org", MailApp.ada), ("other@example.org", nil),
            ] {
                #expect(try await mail.suppressed.add(address, .hard, reason: "gone", user: user, mail: nil, in: space))
            }
            let request = UserDataRequest(app: app.appID, environment: .live, user: MailApp.ada)
            let lines = String(buffer: try await mail.userData.export(request).lines)
            #expect(lines.contains(#""kind":"suppressed""#) && lines.contains("ada-old@example.org"), "\(lines)")

            #expect(
                try await mail.userData.erase(request)
                    == UserErasure(erased: ["mails": 1, "unsubscribed": 1, "suppressed": 2]))
            #expect(try await mail.userData.erase(request) == UserErasure())
            for table in ["mails", "unsubscribed", "mail_suppressed", "mail_forgotten", "jobs"] {
                let text: String = try await app.postgres.query(
                    "SELECT coalesce(string_agg(t::text, ' '), '') FROM (SELECT * FROM \(try #require(PostgresIdentifier(schema: "notifications", name: table)))) AS t"
                )[0].decode(0)
                #expect(!text.contains(MailApp.ada) && !text.contains("ada-old"), "\(table)")
            }
            // Mail addressed directly, and the other user's unsubscription, are still there.
            #expect(try await app.count("mails") == 2)
            #expect(try await app.count("unsubscribed") == 1)
            #expect(try await app.count("mail_suppressed") == 1)
            #expect(try await app.count("mail_forgotten") == 3)

            #expect(try await Self.refusal(app, "ada@example.org") == .suppressed)
            #expect(try await Self.refusal(app, "ada-old@example.org", topic: nil) == .suppressed)
            #expect(
                try await app.master("DELETE", "/notifications/mail/suppressed?address=ada@example.org").status == 204)
            #expect(try await Self.refusal(app, "ada@example.org") == .skipped)
            #expect(try await Self.refusal(app, "ada@example.org", topic: "other") == nil)
            // Digests of one space mean nothing in another.
            var test = app
            test.environment = .test
            #expect(try await Self.refusal(test, "ada@example.org") == nil)
            #expect(
                try await app.master("DELETE", "/notifications/mail/unsubscribed?address=ada@example.org").status == 204
            )
            #expect(try await Self.refusal(app, "ada@example.org") == nil)
        }
    }

    @Test func `A user with many mails is erased in slices, and each call returns a different position`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let rows = 2 * MailUserData.rowsPerSlice + 1
            try await app.postgres.execute(
                """
                INSERT INTO notifications.mails (id, space, author, user_id, state, finished)
                SELECT gen_random_uuid(), \(try await app.space.id), 'service', \(MailApp.ada), 'sent', now() FROM generate_series(1, \(rows))
                """)
            var request = UserDataRequest(app: app.appID, environment: .live, user: MailApp.ada)
            var (positions, erased) = ([String?](), 0)
            repeat {
                let slice = try await app.service.userData.erase(request)
                erased += slice.erased["mails"] ?? 0
                positions.append(slice.next)
                request.after = slice.next
            } while request.after != nil && positions.count < 20
            #expect(erased == rows && Set(positions).count == positions.count, "\(positions)")
        }
    }

    @Test func `An address without a user can be erased, and stays unsubscribed`() async throws {
        try await MailApp.run(OrderMailTests.options) { app in
            let (mail, space) = (app.service.mail, try await app.space.id)
            let order = #"{"users":["\#(MailApp.ada)"],"to":["kim@example.org"],"subject":"Hi","text":"Hello"}"#
            #expect(try await app.master("POST", "/notifications/mail", order).status == 202)
            try await mail.unsubscribed.add("kim@example.org", "news", user: nil, in: space)
            let path = "/notifications/mail?to=KIM@example.org"
            #expect(try await app.client("DELETE", path).isProblem(.forbidden))
            #expect(try await app.master("DELETE", "/notifications/mail").isProblem(.invalidParameter, field: "to"))
            #expect(
                try await app.master("DELETE", "/notifications/mail?to=kim").isProblem(.invalidParameter, field: "to"))
            #expect(try await app.count("mails") == 2)
            let answer = try await app.master("DELETE", path)
            #expect(
                answer.status == 200 && answer["erased.mails"] == "1" && answer["erased.unsubscribed"] == "1"
                    && answer["isDone"] == "true", "\(answer)")
            #expect(try await app.count("mails") == 1)
            #expect(try await app.count("unsubscribed") == 0)
            #expect(try await Self.refusal(app, "kim@example.org") == .skipped)
        }
    }
}
