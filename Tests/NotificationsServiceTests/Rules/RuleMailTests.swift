import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Mail sent by rules.
@Suite struct RuleMailTests {
    private static var options: NotificationsOptions {
        get async throws {
            var options = try await MailApp.options()
            // Nothing listens there, so orders wait.
            if !MailServer.isAvailable { options.mail.server = OrderMailTests.options.mail.server }
            return options
        }
    }

    private static let receipt =
        #""template":"receipt","variables":{"order":"{{object.number}}","note":"{{object.note}}"},"topic":"orders""#

    private func template(_ app: NotificationsApp) async throws {
        let body = #"{"subject":"Order {{order}}","text":"Thank you{{#note}}: {{note}}{{/note}}. {{unsubscribe}}"}"#
        #expect(try await app.master("PUT", "/notifications/mail/templates/receipt", body).status == 200)
    }

    private func mails(_ app: RulesApp) async throws -> [String] {
        try await app.app.postgres.query(
            "SELECT author || ' ' || template || ' ' || topic || ' ' || user_id FROM notifications.mails ORDER BY id"
        ).map { try $0.decode(0) }
    }

    @Test func `a change sends each user one mail, with or without the message, and the run records it`() async throws {
        try await RulesApp.run(try await Self.options) { app in
            try await template(app.app)
            try await app.device(of: MailApp.bob)
            try await app.rule(
                "bought",
                #"{"when":{"collection":"Orders","events":["created"]},"mail":{\#(Self.receipt),"users":[{"field":"object.buyers"}]},"except":["actor"]}"#
            )
            try await app.rule(
                "both",
                #"{"when":{"collection":"Orders","events":["created"]},"to":[{"user":"\#(MailApp.bob)"},{"channel":"all"}],"content":{"title":"x"},"mail":{\#(Self.receipt)}}"#
            )
            let buyers = #"["\#(MailApp.ada)","\#(MailApp.ada.uppercased())","\#(MailApp.bob)","no-id"]"#
            _ = try await app.storage.write(
                "POST", "/storage/Orders", #"{"number":7,"buyers":\#(buyers)}"#, by: MailApp.bob)
            _ = try await app.storage.write("POST", "/storage/Orders", #"{"number":8,"buyers":["no-id"]}"#)
            try await eventually("both have acted") {
                try await app.outcomes(of: "bought").count + app.outcomes(of: "both").count == 4
            }
            #expect(try await app.outcomes(of: "bought") == ["acted", "nobody"])
            #expect(
                try await mails(app).sorted() == [
                    "rule:both receipt orders \(MailApp.bob)", "rule:both receipt orders \(MailApp.bob)",
                    "rule:bought receipt orders \(MailApp.ada)",
                ])
            let run = try await app.app.master("GET", "/notifications/rules/bought/runs?before=\(Int64.max)&limit=100")
            #expect(run["data.1.mails"] == "1" && run["data.1.mail"] != nil && run["data.1.users"] == "1", "\(run)")
            let both = try await app.app.master("GET", "/notifications/rules/both/runs")
            #expect(both["data.0.message"] != nil && both["data.0.mails"] == "1", "\(both)")
            if MailServer.isAvailable, let id = run["data.1.mail"] {
                let record = try await app.app.ended(id)
                #expect(record["state"] == "\"sent\"", "\(record)")
            }
        }
    }

    @Test func `the same action orders its mail once, and none beyond the hourly limit, while its message is sent`()
        async throws
    {
        var options = try await Self.options
        options.mail.mailsPerHour = 3
        try await NotificationsApp.run(options) { app in
            try await template(app)
            let users = #"[{"user":"\#(MailApp.ada)"},{"user":"\#(MailApp.bob)"}]"#
            let rule =
                #"{"when":{"alert":"crash"},"to":\#(users),"content":{"title":"x"},"mail":{"template":"receipt","topic":"a","variables":{"order":"{{alert.name}}"}}}"#
            #expect(try await app.master("PUT", "/notifications/rules/r", rule).status == 201)
            let space = try await app.space
            let facts = Facts([.init("alert", .object([.init("name", .string("Crash"))]))])
            let rules = app.service.rules
            let stored = try #require(try await rules.store.rule("r", in: space))
            let lookUp = RecipientLookUp(storage: rules.storage, space: space)
            let action = try #require(
                try await rules.actionBuilder.action(stored, on: facts, cause: "alert:1", at: Date(), lookUp, in: space)
            )
            for _ in 0..<3 {
                try await app.postgres.withTransaction { try await rules.performer.perform(action, in: space, $0) }
            }
            #expect(try await app.postgres.query("SELECT id FROM notifications.mails").count == 2)
            #expect(try await app.postgres.query("SELECT id FROM notifications.messages").count == 1)
            #expect(try await rules.trigger(on: facts, id: UUID().uuidString, in: space) == 1)
            #expect(try await app.postgres.query("SELECT id FROM notifications.mails").count == 2)
            #expect(try await app.postgres.query("SELECT id FROM notifications.messages").count == 2)
            let run = try await app.master("GET", "/notifications/rules/r/runs?limit=1")
            #expect(
                run["data.0.outcome"] == "\"limited\"" && run["data.0.message"] != nil && run["data.0.mail"] == nil,
                "\(run)")
            #expect(run["data.0.detail"]?.contains("mail") == true)
        }
    }

    @Test func `a dry run shows the mail, and what is missing for it`() async throws {
        try await RulesApp.run(try await Self.options) { app in
            try await template(app.app)
            try await app.rule(
                "bought",
                #"{"when":{"collection":"Orders","events":["created"]},"mail":{\#(Self.receipt),"users":[{"field":"object.buyer"}],"language":"de"}}"#
            )
            func test(_ object: String) async throws -> Answer {
                try await app.app.master("POST", "/notifications/rules/bought/test", #"{"object":\#(object)}"#)
            }
            let shown = try await test(#"{"number":7,"buyer":"\#(MailApp.ada)","note":"soon"}"#)
            #expect(
                shown["matches"] == "true" && shown["mail.users"] == #"["\#(MailApp.ada)"]"#
                    && shown["mail.template"] == "\"receipt\"", "\(shown)")
            #expect(
                shown["mail.variables"] == #"{"note":"soon","order":"7"}"# && shown["mail.topic"] == "\"orders\""
                    && shown["mail.language"] == "\"de\"")
            #expect(try await test(#"{"buyer":"\#(MailApp.ada)"}"#)["reason"]?.contains("order") == true)
            #expect(try await test(#"{"number":7}"#)["reason"] == "\"The rule has no recipients.\"")
            #expect(try await app.app.postgres.query("SELECT id FROM notifications.mails").isEmpty)
        }
    }

    @Test func `a rule whose mail could reach no one is refused`() async throws {
        let to = #""to":[{"user":"a"}],"content":{"title":"x"}"#
        try await NotificationsApp.run(try await Self.options) { app in
            try await template(app)
            for (rest, code, field) in [
                (#""mail":{"template":"receipt"}"#, ErrorCode.invalidBody, "to"),
                (#""mail":{"users":[{"user":"a"}]}"#, .invalidBody, "mail.template"),
                (#""mail":{"template":"receipt","users":[{"channel":"a"}]}"#, .invalidBody, "mail.users"),
                (#""mail":{"template":"receipt","users":[]}"#, .invalidBody, "mail.users"),
                (
                    #""mail":{"template":"receipt","users":[{"user":"a"}],"variables":{"email":"x"}}"#, .invalidBody,
                    "mail.variables.email"
                ),
                (
                    #""mail":{"template":"receipt","users":[{"user":"a"}],"variables":{"a":"{{a"}}"#, .invalidBody,
                    "mail.variables"
                ),
                (#""mail":{"template":"receipt","users":[{"user":"a"}],"topic":"A B"}"#, .invalidBody, "mail.topic"),
                (#""mail":{"template":"receipt","users":[{"user":"a"}],"subject":"x"}"#, .invalidBody, "mail.subject"),
                (#""mail":{"template":"none","users":[{"user":"a"}]}"#, .templateNotFound, "mail.template"),
                (
                    #""mail":{"template":"receipt","users":[{"field":"owner","of":{"collection":"A","id":"x"}}]}"#,
                    .invalidBody, "to"
                ),
                (#""mail":7,\#(to)"#, .invalidBody, "mail"),
                (
                    #""to":[{"channel":"a"}],"content":{"title":"x"},"mail":{"template":"receipt"}"#, .invalidBody,
                    "mail.users"
                ),
                (#""to":[{"user":"a"}],"mail":{"template":"receipt","users":[{"user":"a"}]}"#, .invalidBody, "to"),
            ] {
                let answer = try await app.master(
                    "PUT", "/notifications/rules/bad", #"{"when":{"alert":"crash"},\#(rest)}"#)
                #expect(answer.isProblem(code, field: field), "\(rest): \(answer)")
            }
            #expect(try await app.master("GET", "/notifications/rules")["count"] == "0")
        }
        try await NotificationsApp.run { app in
            let answer = try await app.master(
                "PUT", "/notifications/rules/bad",
                #"{"when":{"alert":"crash"},"mail":{"template":"x","users":[{"user":"a"}]}}"#)
            #expect(answer.isProblem(.notImplemented), "\(answer)")
        }
    }
}
