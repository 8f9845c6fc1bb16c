import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import NotificationsService

@Suite struct RuleEndpointTests {
    private static let plain = #"{"when":{"every":{"minutes":60}},"to":[{"user":"ann"}],"content":{"title":"x"}}"#

    @Test func `a rule is created, read, listed, changed with its version, and deleted`() async throws {
        try await NotificationsApp.run { app in
            let made = try await app.master(
                "PUT", "/notifications/rules/daily", Self.plain, headers: ["If-None-Match": "*"])
            #expect(
                made.status == 201 && made["version"] == "1" && made["name"] == "\"daily\"" && made["next"] != nil
                    && made["secret"] == nil, "\(made)")
            #expect(made["author"] == "\"key:c1\"" && made["content.title"] == "\"x\"")
            let nulls = #"{"when":{"alert":"crash"},"where":{"a":null},"to":[{"user":"ann"}],"content":{"title":"x"}}"#
            #expect(
                try await app.master("PUT", "/notifications/rules/nulls", nulls)["where"]
                    == #"{"a": null}"#.replacing(" ", with: ""))
            #expect(try await app.master("DELETE", "/notifications/rules/nulls").status == 204)
            #expect(
                try await app.master("PUT", "/notifications/rules/daily", Self.plain, headers: ["If-None-Match": "*"])
                    .isProblem(.preconditionFailed))
            #expect(
                try await app.master("PUT", "/notifications/rules/daily", Self.plain, headers: ["If-Match": "\"7\""])
                    .isProblem(.preconditionFailed))
            let changed = try await app.master(
                "PUT", "/notifications/rules/daily", Self.plain, headers: ["If-Match": "\"1\""])
            #expect(changed.status == 200 && changed.header("etag") == "\"2\"")
            #expect(try await app.master("GET", "/notifications/rules")["data.0.version"] == "2")
            #expect(try await app.master("GET", "/notifications/rules/daily").header("etag") == "\"2\"")
            #expect(
                try await app.master("DELETE", "/notifications/rules/daily", headers: ["If-Match": "\"1\""]).isProblem(
                    .preconditionFailed))
            #expect(try await app.master("DELETE", "/notifications/rules/daily").status == 204)
            #expect(try await app.master("GET", "/notifications/rules/daily").isProblem(.ruleNotFound))
            #expect(try await app.client("GET", "/notifications/rules").isProblem(.forbidden))
            #expect(try await app.staff("GET", "/notifications/rules").isProblem(.forbidden))
            #expect(try await app.staff("POST", "/notifications/rules/daily/test", "{}").isProblem(.forbidden))
        }
    }

    @Test(arguments: [
        (#"{}"#, ErrorCode.invalidBody, "when" as String?),
        (
            #"{"when":{"collection":"1a","events":["created"]},"to":[{"user":"a"}],"content":{"title":"x"}}"#,
            .invalidBody, "when.collection"
        ),
        (
            #"{"when":{"collection":"A","events":["made"]},"to":[{"user":"a"}],"content":{"title":"x"}}"#, .invalidBody,
            "when.events"
        ),
        (#"{"when":{"cron":"61 * * * *"},"to":[{"user":"a"}],"content":{"title":"x"}}"#, .invalidBody, "when.cron"),
        (#"{"when":{"cron":"0 0 31 2 *"},"to":[{"user":"a"}],"content":{"title":"x"}}"#, .invalidBody, "when.cron"),
        (
            #"{"when":{"cron":"0 8 * * *","timeZone":"Mars/Base"},"to":[{"user":"a"}],"content":{"title":"x"}}"#,
            .invalidBody, "when.timeZone"
        ),
        (#"{"when":{"every":{"minutes":0}},"to":[{"user":"a"}],"content":{"title":"x"}}"#, .invalidBody, "when.every"),
        (
            #"{"when":{"alert":"crash"},"where":{"a":{"$nope":1}},"to":[{"user":"a"}],"content":{"title":"x"}}"#,
            .invalidBody, "where.a.$nope"
        ),
        (
            #"{"when":{"alert":"crash"},"if":{"nope":[]},"to":[{"user":"a"}],"content":{"title":"x"}}"#, .invalidBody,
            "if"
        ),
        (#"{"when":{"alert":"crash"},"to":[{"user":"a"}]}"#, .invalidBody, "content"),
        (#"{"when":{"alert":"crash"},"content":{"title":"x"}}"#, .invalidBody, "to"),
        (#"{"when":{"alert":"crash"},"to":[{"who":"a"}],"content":{"title":"x"}}"#, .invalidBody, "to"),
        (
            #"{"when":{"alert":"crash"},"to":[{"field":"owner","of":{"collection":"A","id":"x"}}],"content":{"title":"x"}}"#,
            .invalidBody, "to"
        ),
        (#"{"when":{"alert":"crash"},"to":[{"audience":{}}],"content":{"title":"x"}}"#, .invalidBody, "audience"),
        (#"{"when":{"alert":"crash"},"to":[{"user":"a"}],"template":"none"}"#, .templateNotFound, "template"),
        (#"{"when":{"alert":"crash"},"to":[{"user":"a"}],"content":{"title":"{{a"}}"#, .invalidBody, "content"),
        (#"{"when":{"alert":"crash"},"to":[{"user":"a"}],"content":{"tittle":"x"}}"#, .invalidBody, "content.tittle"),
        (
            #"{"when":{"alert":"crash"},"to":[{"audience":{"channels":[]}}],"content":{"title":"x"}}"#, .invalidBody,
            "audience.channels"
        ),
        (#"{"when":{"alert":"crash"},"webhook":{"url":"http://127.0.0.1/"}}"#, .invalidBody, "webhook.url"),
        (
            #"{"when":{"alert":"crash"},"to":[{"user":"a"}],"content":{"title":"x"},"limit":{"count":0,"seconds":1}}"#,
            .invalidBody, "limit"
        ),
        (#"{"when":{"alert":"crash"},"to":[{"user":"a"}],"content":{"title":"x"},"else":1}"#, .invalidBody, "else"),
        (
            #"{"when":{"cron":"0 8 * * *","timeZone":"posixrules"},"to":[{"user":"a"}],"content":{"title":"x"}}"#,
            .invalidBody, "when.timeZone"
        ),
        (
            #"{"when":{"cron":"0 8 * * *","timeZone":"GMT+5"},"to":[{"user":"a"}],"content":{"title":"x"}}"#,
            .invalidBody, "when.timeZone"
        ),
        (
            #"{"when":{"alert":"crash"},"to":[{"user":"a"}],"to":[{"user":"b"}],"content":{"title":"x"}}"#,
            .invalidBody, nil
        ),
        (
            #"{"when":{"alert":"crash"},"to":[{"user":"a"}],"content":{"title":"x"},"description":"\u0000"}"#,
            .invalidBody, nil
        ),
    ])
    func `an invalid rule is refused and not stored`(body: String, code: ErrorCode, field: String?) async throws {
        try await NotificationsApp.run { app in
            let answer = try await app.master("PUT", "/notifications/rules/bad", body)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(try await app.master("GET", "/notifications/rules")["count"] == "0")
        }
    }

    @Test func `a rule on changes is refused while storage is unavailable`() async throws {
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        options.rules.storage.url = URL(string: "http://127.0.0.1:1")!
        try await NotificationsApp.run(options) { app in
            let body = #"{"when":{"collection":"A","events":["created"]},"to":[{"user":"a"}],"content":{"title":"x"}}"#
            let refused = try await app.master("PUT", "/notifications/rules/a", body)
            #expect(refused.isProblem(.unavailable), "\(refused)")
            #expect(try await app.master("GET", "/notifications/rules")["count"] == "0")
        }
    }

    @Test func `a dry run shows what would be sent to whom, or why nothing, and sends nothing`() async throws {
        try await RulesApp.run { app in
            _ = try await app.storage.write("POST", "/storage/Bikes", #"{"_id":"b1","owner":"ann"}"#)
            _ = try await app.storage.write(
                "POST", "/storage/Sightings", #"{"_id":"s1","bikeId":"b1","place":"Harbour"}"#)
            try await app.rule(
                "sighting",
                """
                {"enabled":false,"when":{"collection":"Sightings","events":["created"]},"where":{"object.place":{"$exists":true}},
                 "to":[{"field":"owner","of":{"collection":"Bikes","id":"object.bikeId"}},{"channel":"bike-{{object.bikeId}}"}],"except":["actor"],
                 "content":{"title":"{{object.place}}"}}
                """)
            func test(_ body: String) async throws -> Answer {
                try await app.app.master("POST", "/notifications/rules/sighting/test", body)
            }
            let stored = try await test(#"{"id":"s1","actor":"eve"}"#)
            #expect(
                stored["matches"] == "true" && stored["users"] == #"["ann"]"# && stored["channels"] == #"["bike-b1"]"#,
                "\(stored)")
            #expect(stored["content.title"] == "\"Harbour\"" && stored["except"] == #"["eve"]"#)
            let given = try await test(#"{"object":{"bikeId":"b1"}}"#)
            #expect(given["matches"] == "false" && given["reason"] == "\"where does not hold.\"")
            #expect(try await test(#"{"object":{"bikeId":"b1","place":"x"},"actor":"ann"}"#)["users"] == "[]")
            #expect(try await test(#"{"id":"none"}"#).isProblem(.objectNotFound))
            #expect(try await test(#"{}"#).isProblem(.invalidBody, field: "object"))
            #expect(try await test(#"{"id":"s1","change":"deleted"}"#).isProblem(.invalidBody, field: "change"))
            #expect(try await app.sent() == [])
            #expect(try await app.outcomes(of: "sighting") == [])
        }
    }

    @Test func `a crash alert triggers the app's rules once, however often it is reported`() async throws {
        try await NotificationsApp.run { app in
            let rule =
                #"{"when":{"alert":"crash"},"where":{"alert.kind":"newIssue"},"to":[{"user":"ann"}],"content":{"title":"{{alert.name}}","body":"{{issues.0.title}}"}}"#
            #expect(try await app.master("PUT", "/notifications/rules/crashes", rule).status == 201)
            let service = app.gateway.acting(as: .service("analytics"))
            let id = UUID().uuidString
            func report(_ id: String, _ kind: String) async throws -> Answer {
                let alert = #"{"alert":{"name":"Crashes","kind":"\#(kind)"},"issues":[{"title":"ZeroDivisionError"}]}"#
                return try await service.post(
                    "/internal/notifications/alerts",
                    #"{"app":"app1","environment":"live","id":"\#(id)","alert":\#(JSONValue.quote(alert))}"#)
            }
            #expect(try await report(id, "newIssue")["rules"] == "1")
            #expect(try await report(id, "newIssue")["rules"] == "0")
            #expect(try await report(UUID().uuidString, "rate")["rules"] == "0")
            let sent = try await app.postgres.query(
                "SELECT content ->> 'title', content ->> 'body' FROM notifications.messages")
            #expect(sent.count == 1)
            #expect(try sent.first?.decode(0) == "Crashes")
            #expect(try sent.first?.decode(1) == "ZeroDivisionError")
            #expect(try await app.master("POST", "/internal/notifications/alerts", "{}").isProblem(.forbidden))
        }
    }

    @Test func `a rule's webhook is called, signed, and retried until it accepts`() async throws {
        let calls = Mutex(0)
        let receiver = try await HookReceiver { _ in
            let isFirst = calls.withLock { count in
                count += 1
                return count == 1
            }
            return (isFirst ? 500 : 200, "{}")
        }
        try await RulesApp.run { app in
            let made = try await app.rule(
                "notes", #"{"when":{"collection":"Notes","events":["deleted"]},"webhook":{"url":"\#(receiver.url)"}}"#)
            guard case .string(let text) = made.json?["secret"], let secret = WebhookSecret(text) else {
                throw HTTPFailure(answer: made)
            }
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n1","text":"a"}"#)
            _ = try await app.storage.write("DELETE", "/storage/Notes/n1", by: "eve")
            try await receiver.wait(for: 1)
            // The pause after a failure is ten seconds; the test does not wait for it.
            try await eventually("the failure is recorded") {
                try await app.app.postgres.execute(
                    "UPDATE notifications.jobs SET due = now() WHERE state = 'waiting' AND kind = 'rules.webhook'")
                return receiver.received.count >= 2
            }
            let received = receiver.received
            #expect(received[0].headers["webhook-id"] == received[1].headers["webhook-id"])
            #expect(
                received[1]["data.facts.previous.text"] == "\"a\"" && received[1]["data.facts.actor"] == "\"eve\""
                    && received[1]["type"] == "\"rule.change\"")
            for one in received {
                let id = one.headers["webhook-id"] ?? ""
                let time = Int64(one.headers["webhook-timestamp"] ?? "") ?? 0
                #expect(
                    one.headers["webhook-signature"]
                        == secret.signature(id: id, timestamp: time, body: Data(one.body.utf8)))
            }
            try await eventually("the run has its outcome") {
                try await app.app.master("GET", "/notifications/rules/notes/runs")["data.0.delivery.state"]
                    == "\"done\""
            }
            let changed = try await app.rule(
                "notes", #"{"when":{"collection":"Notes","events":["deleted"]},"webhook":{"url":"\#(receiver.url)"}}"#)
            #expect(changed["secret"] == nil)
            #expect(try await app.app.master("POST", "/notifications/rules/notes/secret")["secret"] != nil)
        }
    }
}

private struct HTTPFailure: Error { var answer: Answer }
