import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Mail that other services order.
@Suite struct ServiceMailTests {
    private static func mail(
        _ origin: String, to address: String, subject: String = "new: {{x}}", text: String = "a\\nb {{y}}"
    ) -> String {
        #"{"origin":"\#(origin)","to":"\#(address)","subject":"\#(subject)","text":"\#(text)"}"#
    }

    private static func order(
        _ app: NotificationsApp, _ mails: [String], as principal: Principal? = .service("analytics")
    ) async throws -> Answer {
        let body = #"{"app":"app1","environment":"live","mails":[\#(mails.joined(separator: ","))]}"#
        return try await app.gateway.acting(as: principal).post("/internal/notifications/mail", body)
    }

    @Test(.enabled(if: MailServer.isAvailable))
    func `Ordered mail is sent once per origin, and its outcome is reported`() async throws {
        try await MailApp.run { app in
            let address = MailApp.address()
            let first = try await Self.order(app, [Self.mail("a:1", to: address)])
            #expect(first["canSend"] == "true" && first["mails.0.origin"] == "\"a:1\"", "\(first)")
            try await eventually("the mail has left the queue") {
                try await Self.order(app, [Self.mail("a:1", to: address)])["mails.0.state"] != "\"queued\""
            }
            let again = try await Self.order(
                app, [Self.mail("a:1", to: "other@example.org", text: "else"), Self.mail("a:2", to: "eve@example.org")])
            #expect(
                again["mails.0.state"] == "\"sent\"" && again["mails.1.origin"] == "\"a:2\"" && again["mails.2"] == nil,
                "\(again)")
            #expect(try await app.count("mails") == 2)
            // The app does not see mail of other services.
            let id: String = try await app.postgres.query("SELECT id::text FROM notifications.mails")[0].decode(0)
            #expect(try await app.master("GET", "/notifications/mail")["data"] == "[]")
            #expect(try await app.master("GET", "/notifications/mail/\(id)").status == 404)
            let mail = try await MailServer.shared.mail(to: address)
            #expect(
                mail.subject == "Shöp: new: {{x}}" && mail.text.hasPrefix("Shöp (live)\n\na\nb {{y}}")
                    && mail.html == nil && mail.defects == [], "\(mail)")
        }
    }

    private static let good = mail("a:1", to: "ada@example.org")

    private static let refused: [(mails: [String], field: String)] = [
        ([mail("", to: "ada@example.org")], "origin"), ([mail("a", to: "ada")], "to"),
        ([#"{"origin":"a","to":"a@example.org","subject":"b"}"#], "text"),
        ([mail("a:1", to: "ada@example.org\\r\\nBcc: eve@example.org")], "to"), ([good, mail("b", to: "x")], "to"),
        (Array(repeating: good, count: 21), "mails"),
    ]

    @Test(.enabled(if: MailServer.isAvailable))
    func `Invalid mail and unknown services are refused, and nothing is queued`() async throws {
        try await MailApp.run { app in
            for (mails, field) in Self.refused {
                let answer = try await Self.order(app, mails)
                #expect(answer.isProblem(.invalidBody, field: field), "\(mails): \(answer)")
            }
            let kinds: [Principal.Kind] = [.client, .master, .staff]
            for kind in kinds {
                let answer = try await Self.order(app, [Self.good], as: app.principal(kind))
                #expect(answer.isProblem(.forbidden), "\(answer)")
            }
            #expect(try await app.count("mails") == 0)
        }
    }

    @Test func `Without a mail server the order is refused with the reason`() async throws {
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        options.mail.server = .init()
        try await NotificationsApp.run(options) { app in
            let answer = try await Self.order(app, [Self.mail("a:1", to: "ada@example.org")])
            #expect(answer["canSend"] == "false" && answer["mails"] == "[]")
            #expect(try await app.count("mails") == 0)
        }
    }
}
